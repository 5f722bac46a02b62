from typing import TypeVar

E = TypeVar("E")

def clone(estimator: E, *, safe: bool = ...) -> E: ...
