from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from typing import Generic, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

class Call(Generic[T]): ...

class Parallel:
    def __init__(
        self, *, n_jobs: int, return_as: Literal["generator_unordered"], batch_size: int
    ) -> None: ...
    def __call__(self, calls: Iterable[Call[T]]) -> Generator[T]: ...

def delayed(function: Callable[P, T]) -> Callable[P, Call[T]]: ...
def parallel_config(
    backend: str, *, inner_max_num_threads: int | None = None
) -> AbstractContextManager[None]: ...
