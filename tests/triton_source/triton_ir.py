"""Triton's own first intermediate representation of a kernel, as integer operations by source line.

Nothing is optimised yet at that stage, so that each operation is the one that the kernel's text asks for."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelscope.triton_source import KernelDeclaration

#: Integer operations that are compared; a comparison comes with its predicate.
_OPERATION = re.compile(
    r"arith\.(addi|subi|muli|divsi|divui|remsi|remui|andi|ori|xori|shli|shrsi|shrui|minsi|maxsi|minui|maxui"
    r"|extsi|extui|trunci|cmpi)\b(?: (\w+),)?"
)
_LOC_REFERENCE = re.compile(r"loc\((#loc\d*)\)\s*$")
_LOC_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_FILE_PLACE = re.compile(r'^"([^"]*)":(\d+):(\d+)')
_NAMED = re.compile(r'^"[^"]*"\((#loc\d*)\)$')
_FUNCTION = re.compile(r'tt\.func (?:public|private) @("[^"]*"|[\w$.]+)\(')
_CALL = re.compile(r'(?:tt\.)?call @("[^"]*"|[\w$.]+)\(')
_ELEMENT = re.compile(r"i(\d+)(?:, #[\w.]+)?>?$")

#: Library functions whose operations the interpreter repeats one by one.
_FOLLOWED = ("cdiv", "swizzle2d", "div_floor_integer", "remainder_integer", "promote_to_tensor", "sum", "max", "min")

Operation = tuple[int, str, int]  # line, operation, bits of its operands


@dataclass
class _Function:
    operations: list[tuple[str, int, str]] = field(default_factory=list)  # operation, bits, location
    calls: list[tuple[str, str]] = field(default_factory=list)


def import_kernel(declaration: KernelDeclaration, text: str, folder: Path) -> tuple[object, str]:
    """The jitted function of a kernel text, imported from a file without Inductor's decorator, and the file's name."""
    lines = text.split("\n")
    functions = {f.name: f for f in ast.parse(textwrap.dedent(text)).body if isinstance(f, ast.FunctionDef)}
    for decorator in functions[declaration.name].decorator_list:
        if "triton_heuristics" in ast.unparse(decorator) or "autotune" in ast.unparse(decorator):
            for number in range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1):
                lines[number - 1] = ""
    source = "\n".join("" if "set_driver_to_gpu()" in line else line for line in lines)
    indent = min((len(line) - len(line.lstrip()) for line in source.split("\n") if line.strip()), default=0)
    path = folder / f"kernel_{next(_NUMBERS)}.py"
    path.write_text("\n".join(line[indent:] for line in source.split("\n")))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, declaration.name), path.name


_NUMBERS = itertools.count()


def unoptimised_ir(function: object, signature: Mapping[str, str], constexprs: Mapping[str, object]) -> str:
    """The text of the IR that Triton's front end makes, with locations."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import ASTSource, make_backend

    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({"sanitize_overflow": False})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(function, dict(signature), dict(constexprs), {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = source.make_ir(
            target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
        )
    return str(module)


def operations_by_line(text: str, kernel: str, file_name: str) -> Counter[Operation]:
    """Every integer operation of a kernel and of what it calls, at the kernel file's line that asks for it."""
    functions, places = _parse(text)
    result: Counter[Operation] = Counter()
    for line, name, bits in _expanded(functions, places, kernel, file_name, None, 0):
        result[line, name, bits] += 1
    return result


def _expanded(
    functions: Mapping[str, _Function], places: Mapping[str, str], name: str, file_name: str, caller: int | None,
    depth: int,
) -> Iterator[Operation]:  # fmt: skip
    function = functions.get(name)
    if function is None or depth > 30:
        return
    for operation, bits, location in function.operations:
        line = _line(places, location, file_name)
        if line is not None and caller is None or line is not None and _is_local(places, location, file_name):
            yield line, operation, bits
        elif caller is not None:
            yield caller, operation, bits
    for callee, location in function.calls:
        line = _line(places, location, file_name)
        if not _is_followed(functions, callee, places, file_name):
            continue
        yield from _expanded(functions, places, callee, file_name, line if line is not None else caller, depth + 1)


def _is_followed(
    functions: Mapping[str, _Function], name: str, places: Mapping[str, str], file_name: str
) -> bool:
    short = name.strip('"').partition("__")[0].rpartition(".")[2]
    if "kernel_" in name.partition("__")[0]:
        return True
    return short in _FOLLOWED


def _is_local(places: Mapping[str, str], location: str, file_name: str) -> bool:
    return _line(places, location, file_name) is not None


def _line(places: Mapping[str, str], location: str, file_name: str) -> int | None:
    """The line in `file_name` at which a location lies, through names given to it."""
    text = places.get(location, "")
    for _ in range(10):
        named = _NAMED.match(text)
        if named is None:
            break
        text = places.get(named.group(1), "")
    place = _FILE_PLACE.match(text)
    return int(place.group(2)) if place is not None and place.group(1).endswith(file_name) else None


def _parse(text: str) -> tuple[dict[str, _Function], dict[str, str]]:
    functions: dict[str, _Function] = {}
    places: dict[str, str] = {}
    current: _Function | None = None
    regions = 0
    for line in text.split("\n"):
        definition = _LOC_DEFINITION.match(line)
        if definition is not None:
            places[definition.group(1)] = definition.group(2)
            continue
        header = _FUNCTION.search(line)
        if header is not None:
            current = functions[header.group(1)] = _Function()
            continue
        if current is None:
            continue
        regions += _region_change(line, regions)
        if regions == 0:
            _read_operation(line, current)
    return functions, places


def _region_change(line: str, inside: int) -> int:
    """Entering or leaving the body of a reduction or scan, whose operations belong to its combination."""
    if re.search(r'"tt\.(reduce|scan|map_elementwise)"\(', line):
        return 1
    return -1 if inside and line.strip().startswith("})") else 0


def _read_operation(line: str, function: _Function) -> None:
    location = _LOC_REFERENCE.search(line)
    if location is None:
        return
    call = _CALL.search(line)
    if call is not None:
        function.calls.append((call.group(1), location.group(1)))
        return
    operation = _OPERATION.search(line)
    if operation is None:
        return
    name = f"cmpi {operation.group(2)}" if operation.group(1) == "cmpi" else operation.group(1)
    kinds = line[: location.start()].rpartition(" : ")[2].split(" to ")
    widths = [int(match.group(1)) for kind in kinds if (match := _ELEMENT.search(kind.strip())) is not None]
    if len(kinds) == 2 and len(widths) == 2:
        function.operations.append((f"{name} from {widths[0]}", widths[1], location.group(1)))
    elif widths:
        function.operations.append((name, widths[0], location.group(1)))
