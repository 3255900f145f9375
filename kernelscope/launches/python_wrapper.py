"""Python wrappers (`output_code.py`): what `torch.compile` generates."""

from __future__ import annotations

import ast

from kernelscope.launches.kernel_declaration import kernel_declarations
from kernelscope.launches.launch import DamagedPart, EmbeddedKernel, SourcePosition, WrapperFacts
from kernelscope.launches.python_launches import PythonKernel
from kernelscope.launches.python_program import Program
from kernelscope.launches.python_state import ProgramState
from kernelscope.python_syntax import parse_module

_JIT_NOTE = "torch.compile guards the sizes it compiled for: one that fails a guard is compiled into other kernels"
_CPU_NOTE = "C++ kernels on the CPU loop with 64-bit counters"


def read_python_wrapper(text: str, file: str) -> WrapperFacts:
    """Everything that a Python wrapper tells about its launches; nothing in it is executed."""
    try:
        tree = parse_module(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        damaged = DamagedPart(f"not Python: {error}", SourcePosition(file, line))
        return WrapperFacts(file, (), (), (), (damaged,))
    return _Module(tree, text, file).read()


class _Module:
    def __init__(self, tree: ast.Module, text: str, file: str) -> None:
        self._tree = tree
        self._file = file
        self._lines = text.split("\n")
        self._embedded: list[EmbeddedKernel] = []
        self._kernels: dict[str, tuple[PythonKernel, ...]] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._damaged: list[DamagedPart] = []
        self._is_cpu = False
        self._call: ast.FunctionDef | None = None

    def read(self) -> WrapperFacts:
        for statement in self._tree.body:
            self._top_level(statement)
        state = ProgramState(self._file, self._lines, self._kernels, self._functions, damaged=self._damaged)
        if self._call is not None:
            try:
                Program(state).call(self._call, None)
            except RecursionError:
                self._damage("call is nested too deeply", self._call)
        elif self._kernels:
            self._damage("the call function is missing", self._tree)
        self._missing_launches(state)
        device = "cuda" if self._kernels else "cpu" if self._is_cpu else None
        notes = (_JIT_NOTE,) if self._kernels else (_CPU_NOTE,) if self._is_cpu else ()
        return WrapperFacts(
            self._file, tuple(state.symbols.values()), tuple(state.launches), tuple(self._embedded),
            tuple(state.damaged), device, notes,
        )  # fmt: skip

    def _damage(self, what: str, node: ast.AST) -> None:
        self._damaged.append(DamagedPart(what, SourcePosition(self._file, getattr(node, "lineno", 1))))

    def _top_level(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef(name="call"):
                self._call = node
            case ast.FunctionDef():
                self._functions[node.name] = node
            case ast.ClassDef(name="Runner", body=body):
                self._call = next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == "call"), self._call)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr=method)) as call):
                self._definition(name, method, call)

    def _definition(self, name: str, method: str, call: ast.Call) -> None:
        match method, call.args:
            case "triton", [ast.Constant(value=str() as kernel), ast.Constant(value=str() as source) as literal, *_]:
                self._kernel(name, kernel, source, literal)
            case "multi_kernel", [_, ast.List(elts=parts), *_]:
                parts_of = [self._kernels.get(part.id, ()) for part in parts if isinstance(part, ast.Name)]
                self._kernels[name] = tuple(kernel for group in parts_of for kernel in group)
            case ("cpp_pybinding" | "cpp"), _:
                self._is_cpu = True

    def _kernel(self, variable: str, kernel: str, source: str, literal: ast.Constant) -> None:
        try:
            declared = {d.name: d for d in kernel_declarations(source)}
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            declared = {}
        declaration = declared.get(kernel) or next(iter(declared.values()), None)
        if declaration is None:
            self._damage(f"the Triton source of {variable} cannot be read", literal)
            return
        starts_blank = source.startswith("\n")
        text, first = (source[1:], literal.lineno + 1) if starts_blank else (source, literal.lineno)
        self._embedded.append(EmbeddedKernel(declaration.name, variable, text, self._file, first, 0))
        self._kernels[variable] = (
            PythonKernel(variable, declaration.name, declaration.metadata, declaration.parameters),
        )

    def _missing_launches(self, state: ProgramState) -> None:
        """Every `.run(…, stream=…)` in the file must have become a launch or a damaged part."""
        seen = {(launch.position.line, launch.position.column) for launch in state.launches}
        seen |= {(part.position.line, part.position.column) for part in state.damaged}
        functions = [f for f in (self._call, *self._functions.values()) if f is not None]
        for function in functions:
            if function.name in ("benchmark_compiled_module", "get_args"):
                continue
            for node in ast.walk(function):
                is_run = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run"
                if is_run and isinstance(node, ast.Call) and (node.lineno, node.col_offset) not in seen:
                    self._damage("a launch that was not understood", node)
