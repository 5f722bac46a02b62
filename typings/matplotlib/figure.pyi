from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

from matplotlib.axes import Artist, Axes

class _Flat:
    def __iter__(self) -> Iterator[Axes]: ...
    def __getitem__(self, which: slice) -> Sequence[Axes]: ...

class _Grid:
    flat: _Flat
    def __getitem__(self, place: tuple[int, int]) -> Axes: ...

class Figure:
    def __init__(self, *, figsize: tuple[float, float] = ..., layout: str = ...) -> None: ...
    @overload
    def subplots(self) -> Axes: ...
    @overload
    def subplots(self, rows: int, columns: int, *, squeeze: bool) -> _Grid: ...
    def suptitle(self, text: str, *, fontsize: float) -> Artist: ...
    def legend(
        self,
        handles: Sequence[Artist],
        labels: Sequence[str],
        *,
        loc: str,
        ncols: int,
        fontsize: float,
        frameon: bool,
    ) -> Artist: ...
    def savefig(self, path: Path, *, format: str = ..., dpi: int) -> None: ...
