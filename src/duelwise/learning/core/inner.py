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

from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import AnnotateTypes, NopythonRewrites

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None}


class _Text(JITCodeLibrary):
    """What a kernel and those it calls were lowered to."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

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
class _Count(LoweringPass):
    """Count no references where there are none to count."""

    _name = "count_references"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        made = [state.return_type]
        for block in state.func_ir.blocks.values():
            for call in block.find_exprs(op="call"):
                made.append(state.calltypes[call].return_type)
        manager = state.targetctx.data_model_manager
        if not any(manager[kind].contains_nrt_meminfo() for kind in made):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _LeaveAsText(LoweringPass):
    _name = "leave_as_text"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _Text(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _Compiling(CompilerBase):
    """numba's passes without the fusing of array expressions."""

    def define_pipelines(self) -> Any:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [one for one in passes.passes if one[0] is not NopythonRewrites]
        passes.add_pass_after(_Count, AnnotateTypes)
        if self.state.flags is _INNER:
            passes.add_pass_after(_LeaveAsText, AnnotateTypes)
        passes.finalize()
        return [passes]


def _flags(**more: bool) -> _Flags:
    flags = _Flags()
    CPUDispatcher.targetdescr.options.parse_as_flags(flags, OPTIONS | {"no_cfunc_wrapper": True})
    for name, value in more.items():
        setattr(flags, name, value)
    return flags


_OUTER, _INNER = _flags(), _flags(no_compile=True, no_cpython_wrapper=True)


class _Inner(CPUDispatcher):
    """A kernel inside compiled code."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func, {}, OPTIONS, _Compiling)
        self._compiler._customize_flags = lambda _: _INNER

    def add_overload(self, cres: Any) -> None:
        self.targetctx.insert_user_function(cres.fndesc, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres._replace(entry_point=cres.fndesc)


class Kernel(CPUDispatcher):
    """A kernel that Python calls; compiled code that names it calls its inner twin."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func, {}, OPTIONS, _Compiling)
        self._compiler._customize_flags = lambda _: _OUTER
        self.inner = _Inner(py_func)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.inner)
