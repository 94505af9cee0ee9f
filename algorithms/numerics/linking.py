"""Compilation of kernels that only other kernels call: as LLVM code alone, to be linked into their callers.

Numba optimises every function together with everything it calls, and compiles it to machine code: a loop seven calls
deep is optimised seven times, and the machine code of all but the outermost function is never used. Here an inner
kernel is left as it is written, and the entry point that contains it is optimised once, as a whole.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-subclassing-any=False
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class _LinkedCode(JITCodeLibrary):
    """LLVM code that is neither optimised nor compiled to machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        handle = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(handle, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=handle)
        return True


class LinkedCompiler(CompilerBase):
    """Numba's pipeline with a different last step."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the only pipeline."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        linked = PassManager("linked")
        for step, description in pipeline.passes:
            linked.add_pass(_LinkedLowering if step is NativeLowering else step, description)
        linked.finalize()
        return [linked]
