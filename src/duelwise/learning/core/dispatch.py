"""Parts stay parts when compiled: a kernel is found by the type of the part's state.

A role is what a kind of part does, such as `learn`. In compiled code a call of the role with a state
becomes a call of the kernel that was registered for that state's class: nothing is looked up at run time.

    class Halved(NamedTuple):
        rounds: IntArray

    @kernel(delay, Halved)
    def half_as_late(state, block, r, sent): ...
"""

# numba's extensions have no types to check against.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from numba.core import types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer, infer_global

from duelwise.errors import InvalidInput
from duelwise.learning.core.interpreted import text_of
from duelwise.learning.core.jit import compiled, mark_foreign

F = TypeVar("F", bound=Callable[..., Any])

_KERNELS: dict[tuple[str, type], Callable[..., Any]] = {}


def role(declaration: F) -> F:
    """Declare what a kind of part does; its first argument is the part's state."""
    return _declare(declaration, lambda state: kernel_for(declaration, state))


def optional_role(declaration: F) -> F:
    """The same for what not every part of the kind minds: the declaration's own text holds for the others."""
    default = compiled(declaration)
    return _declare(declaration, lambda state: _KERNELS.get((declaration.__name__, state), default))


def _declare(declaration: F, kernel_of: Callable[[type], Any]) -> F:
    """What calls the kernel for its first argument's class: in compiled code, and in texts."""

    @wraps(declaration)
    def play(state: Any, *args: Any) -> Any:
        return text_of(kernel_of(type(state)))(state, *args)

    play.is_role = True

    def called(state: Any) -> Any:
        return types.Dispatcher(kernel_of(state.instance_class).inner)

    @infer
    class Call(AbstractTemplate):
        key = play

        def generic(self, args: Any, kws: Any) -> Any:
            if not hasattr(args[0], "instance_class"):
                return None  # numba then says that it knows no such function
            return called(args[0]).get_call_type(self.context, args, kws)

    infer_global(play, types.Function(Call))

    @lower_builtin(play, types.VarArg(types.Any))
    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_function(called(signature.args[0]), signature)(builder, args)

    return cast(F, play)


def kernel(declared: Callable[..., Any], state: type) -> Callable[[F], F]:
    """Compile a function and let it play this role for parts whose state is of this class."""

    def register(function: F) -> F:
        made: Any = compiled(function)
        _KERNELS[declared.__name__, state] = made
        mark_foreign(state, function)
        return made

    return register


def kernel_for(declared: Callable[..., Any], state: type) -> Callable[..., Any]:
    """The kernel that plays a role for states of this class."""
    found = _KERNELS.get((declared.__name__, state))
    if found is None:
        raise InvalidInput(
            f"{state.__name__} has no kernel for {declared.__name__!r}. Register one with "
            f"@kernel({declared.__name__}, {state.__name__}), or leave `compiled` out of the part."
        )
    return found


def in_python(declared: F, state: object) -> F:
    """The text of the kernel that plays an optional role for a state, or of the role itself."""
    found: Any = _KERNELS.get((declared.__name__, type(state)))
    return declared.__wrapped__ if found is None else found.py_func


def offers_kernel(part: object) -> bool:
    """Whether a part's own class says how it is compiled.

    A subclass may have changed what its parent does, so what it only inherits does not count. A part that
    hands over to another, `then`, is compiled only with that one.
    """
    then = getattr(part, "then", None)
    return "compiled" in vars(type(part)) and (then is None or offers_kernel(then))
