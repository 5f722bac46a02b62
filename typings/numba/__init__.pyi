from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

def njit(
    *,
    cache: bool = ...,
    parallel: bool = ...,
    nogil: bool = ...,
    inline: str = ...,
    error_model: str = ...,
    boundscheck: bool = ...,
) -> Callable[[F], F]: ...
def prange(stop: int, /) -> range: ...
def set_num_threads(n: int) -> None: ...
def get_num_threads() -> int: ...

__version__: str
