"""A package of any number of distinct kernels: launchers of the fixtures with varied constants in one wrapper."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from tests.bench.templates import Template, templates, wrapper_text

_FRAME = "transpose"
_LITERAL = re.compile(r"(?<![\w.])(\d{2,6})(L?)(?![\w.])")
_NAME = "triton_poi_fused_add_clone_transpose_0"


def write_package(path: Path, kernels: int) -> None:
    """Write a package with `kernels` distinct kernels, each with its own binary, as an AOTInductor export has."""
    pool = templates()
    chosen = [(pool[number % len(pool)], number // len(pool), number) for number in range(kernels)]
    folder = f"{path.stem}/data/aotinductor/model/"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{path.stem}/archive_format", "pt2")
        archive.writestr(folder + "w.wrapper.cpp", _wrapper(chosen))
        archive.writestr(folder + "w.wrapper_metadata.json", '{"AOTI_DEVICE_KEY": "cuda"}')
        for template, _, number in chosen:
            archive.writestr(folder + f"{template.cubin_name}{number}.cubin", template.cubin)


def write_changed(path: Path, package: Path, every: int) -> None:
    """Write a package again with the program ids of every so many launchers widened."""
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith(".wrapper.cpp"):
                first, *launchers = data.decode().split("async_compile.triton(")
                changed = [
                    text.replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)") if number % every == 0 else text
                    for number, text in enumerate(launchers)
                ]
                data = "async_compile.triton(".join([first, *changed]).encode()
            new.writestr(entry.filename, data)


def _wrapper(chosen: list[tuple[Template, int, int]]) -> str:
    frame = wrapper_text(_FRAME)
    start = frame.index("template <typename in_ptr0_type_")
    end = frame.index("namespace torch::aot_inductor {", start)
    tail = frame[end:]
    stop = tail.index("    // Topologically Sorted")
    after = tail.index("    arg0_1.reset();")
    launchers = [_launcher(*c) for c in chosen]
    calls = [_call(*c) for c in chosen]
    members = "\n".join(f"    CUfunction {_unique(t, n)}{{nullptr}};" for t, _, n in chosen)
    head = frame[:start].replace(f"    CUfunction {_NAME}{{nullptr}};", members)
    return "".join([head, "\n".join(launchers), "\n", tail[:stop], *calls, tail[after:]])


def _unique(template: Template, number: int) -> str:
    return f"{template.name}_k{number}"


def _varied(text: str, variant: int) -> str:
    """The text with every integer of two to six digits that is no block size grown by the variant's number."""
    return _LITERAL.sub(lambda m: f"{int(m[1]) + variant}{m[2]}", text)


def _launcher(template: Template, variant: int, number: int) -> str:
    text = template.text.replace(template.name, _unique(template, number))
    text = text.replace(f"{template.cubin_name}.cubin", f"{template.cubin_name}{number}.cubin")
    begin, end = text.index("@triton.jit"), text.index("''', device_str")
    lines = text[begin:end].split("\n")
    varied = [line if "constexpr" in line or "float32)" in line else _varied(line, variant) for line in lines]
    return text[:begin] + "\n".join(varied) + text[end:]


def _call(template: Template, variant: int, number: int) -> str:
    """Allocations of the size that the kernel works on, and the call."""
    elements = _varied(template.elements, variant)
    lines = [f"    const int64_t sizes_{number}[] = {{{elements}}};"]
    lines.append(f"    static constexpr int64_t strides_{number}[] = {{1L}};")
    buffers = []
    for position, _ in enumerate(t for t in template.tensors if t.startswith(("in_out", "out"))):
        name = f"buf{number}_{position}"
        lines.append(f"    AtenTensorHandle {name}_handle;")
        lines.append(
            f"    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(1, sizes_{number}, strides_{number}, "
            f"cached_torch_dtype_float32, cached_torch_device_type_cuda, this->device_idx_, &{name}_handle));"
        )
        lines.append(f"    RAIIAtenTensorHandle {name}({name}_handle);")
        buffers.append(name)
    names = iter(buffers)
    tensors = [next(names) if t.startswith(("in_out", "out")) else "arg0_1" for t in template.tensors]
    scalars = []
    for position, value in enumerate(template.scalars):
        lines.append(f"    int64_t size_{number}_{position} = {_varied(value, variant)};")
        scalars.append(f"size_{number}_{position}")
    lines.append("    // Topologically Sorted Source Nodes: [synthetic], Original ATen: [aten.add]")
    arguments = ", ".join([*tensors, *scalars])
    lines.append(
        f"    call_{_unique(template, number)}({arguments}, this->device_idx_, stream, kernels, this->cubin_dir_);"
    )
    return "\n".join(lines) + "\n"
