"""What a shell offers after Tab: the names that an argument or option takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Complete = Callable[[str], list[str]]


def names(known: Callable[[], Iterable[str]]) -> Complete:
    """Those of the known names that begin as typed; looked up only when asked."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in known() if name.startswith(incomplete)]

    return complete


def listed(known: Callable[[], Iterable[str]]) -> Complete:
    """The same for the last of several names separated by commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(last)]

    return complete


def figures() -> Iterable[str]:
    """Numbers and labels of the paper's figures."""
    from duelwise.lab.paper.figures import FIGURES

    return ["all", *FIGURES, *(figure.label for figure in FIGURES.values())]


def protocols() -> Iterable[str]:
    """How methods may be set."""
    from duelwise.lab.paper.protocols import PROTOCOLS

    return PROTOCOLS


def post_serving() -> Iterable[str]:
    """What φ̂ may be."""
    from duelwise.learning.post_serving import POST_SERVING

    return POST_SERVING


def recipes() -> Iterable[str]:
    """The methods."""
    from duelwise.learning.recipes import RECIPES

    return RECIPES
