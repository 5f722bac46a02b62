"""Kernels as other kernels call them: typed and lowered once, optimised in whoever is called from Python.

numba makes machine code of every function by itself, with wrappers for Python and C, and optimises it again
in each caller: a leaf five calls deep is optimised five times. Here a kernel that another kernel calls is
left as LLVM's text; the one that Python calls is linked of all it needs, and optimised once. And a kernel
that neither makes nor returns an array counts no references: whoever called it holds what it was given.
"""

# numba's compiler has no types to check against.
# pyright: basic, reportAttributeAccessIssue=false, reportIncompatibleMethodOverride=false
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from functools import cache
from typing import Any

from numba import jit
from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.target_extension import CPU, jit_registry
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import AnnotateTypes, NopythonRewrites

from duelwise.garbage_collection import uncollected

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None}


class _Whole(JITCodeLibrary):
    """A kernel with all that it calls, optimised at once."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _Text(_Whole):
    """What a kernel and those it calls were lowered to."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _Flags(Flags):
    """One object for all kernels of a kind: numba looks its own helpers up by them at every operator."""

    def copy(self) -> _Flags:
        return self

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@register_pass(mutates_CFG=False, analysis_only=True)
class _Prepare(LoweringPass):
    """Choose the library, and count no references where there are none to count."""

    _name = "prepare_for_lowering"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        made = [state.return_type]
        for block in state.func_ir.blocks.values():
            for line in block.find_insts(ir.Assign):
                if isinstance(line.value, ir.Expr) and not _looks_only(line.value, state.typemap):
                    made.append(state.typemap[line.target.name])
        manager = state.targetctx.data_model_manager
        library = _Whole if state.flags is _OUTER else _Text
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        if not any(manager[kind].contains_nrt_meminfo() for kind in made):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _looks_only(value: ir.Expr, types_of: Any) -> bool:
    """Whether an expression makes no array: it may be a view of one."""
    if value.op == "getitem":
        return not str(types_of[value.index.name]).count("array(")
    return value.op in ("getattr", "static_getitem", "cast", "build_tuple", "exhaust_iter")


class _Compiling(CompilerBase):
    """numba's passes without the fusing of array expressions."""

    def define_pipelines(self) -> Any:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [one for one in passes.passes if one[0] is not NopythonRewrites]
        passes.add_pass_after(_Prepare, AnnotateTypes)
        passes.finalize()
        return [passes]


def _flags(**more: Any) -> _Flags:
    flags = _Flags()
    CPUDispatcher.targetdescr.options.parse_as_flags(flags, OPTIONS | {"no_cfunc_wrapper": True} | more)
    return flags


_OUTER = _flags()


@cache
def _inner_flags(*options: tuple[str, Any]) -> _Flags:
    flags = _flags(**dict(options) | {"no_cpython_wrapper": True})
    flags.no_compile = True
    return flags


class _Inner(CPUDispatcher):
    """A kernel inside compiled code."""

    def __init__(self, py_func: Any, **options: Any) -> None:
        super().__init__(py_func, {}, OPTIONS | options, _Compiling)
        self._options = options
        self._compiler._customize_flags = lambda _: _inner_flags(*options.items())

    def get_call_template(self, args: Any, kws: Any) -> Any:
        if not self._options:  # one kernel for True and False, for 0 and 1
            args = [types.unliteral(kind) for kind in args]
        return super().get_call_template(args, kws)

    def add_overload(self, cres: Any) -> None:
        self.targetctx.insert_user_function(cres.fndesc, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres._replace(entry_point=cres.fndesc)


def _helpers(**options: Any) -> Any:
    """How numba compiles what stands behind np.empty and the like: for our kernels as text too."""
    if isinstance(ConfigStack.top_or_none(), _Flags):
        return lambda function: _Inner(function, **options, no_cfunc_wrapper=True)
    return jit(**options)


jit_registry.pop(CPU)
jit_registry[CPU] = _helpers


_SETTLED = {"_operator", "builtins", "math", "numpy"}  # modules whose functions mean the same every time
_typed: dict[tuple[Any, ...], Any] = {}
_find_type = types.Function.get_call_type


def _typed_once(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """What a call of numba's own functions has for types, looked for once.

    At every operator numba would try all its definitions in turn, and write down why each does not fit:
    a seventh of the time that our kernels take to compile.
    """
    is_known = getattr(self.typing_key, "__module__", None) in _SETTLED and not kws
    if not is_known or not isinstance(ConfigStack.top_or_none(), _Flags):
        return _find_type(self, context, args, kws)
    key = (self, *args)
    if key not in _typed:
        _typed[key] = _find_type(self, context, args, kws)
    return _typed[key]


types.Function.get_call_type = _typed_once


class Kernel(CPUDispatcher):
    """A kernel that Python calls; compiled code that names it calls its inner twin."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func, {}, OPTIONS, _Compiling)
        self._compiler._customize_flags = lambda _: _OUTER
        self.inner = _Inner(py_func)

    def compile(self, sig: Any) -> Any:
        """A compiler makes millions of objects, and keeps most."""
        with uncollected():
            return super().compile(sig)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.inner)
