"""Inputs with code in every place that a careless reader would run; with `bomb` = "0" they are harmless."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.audit.packages import FIXTURES

KERNEL = """import triton
import triton.language as tl
import planted_module
from planted_module import *

{bomb}
HELD = [{bomb} for _ in range(2)]

class Planted:
    field = {bomb}
    def __reduce__(self): return (exec, ({text!r},))
    def __init_subclass__(cls): {bomb}

class Heir(Planted):
    pass

def decorate(function, _={bomb}):
    {bomb}
    return function

@decorate
@triton.autotune(configs=[{bomb}], key=[])
@triton.heuristics({{"BLOCK": lambda args: {bomb}}})
@triton.jit(debug={bomb})
def double(x_ptr, y_ptr, n: ({bomb}), BLOCK: tl.constexpr = ({bomb})):
    tl.static_print({bomb})
    tl.static_assert({bomb} == 0)
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + index + {bomb}, tl.load(x_ptr + index, index < n) * 2, index < n)

if True:
    {bomb}
"""

LAUNCH = """grid = ["cdiv(n, BLOCK)", "1", "1"]
[symbols]
n = [1, 4096]
[types]
n = "i32"
[constexpr]
BLOCK = 128
[tensors]
x_ptr = {dtype = "fp32", shape = ["n"], strides = ["1"]}
y_ptr = {dtype = "fp32", shape = ["n"], strides = ["1"]}
"""

OUTPUT_CODE = """import torch, planted_module
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()
{bomb}
double = async_compile.triton('double', '''
import triton
import triton.language as tl
{bomb}

@triton_heuristics.pointwise(size_hints={{'x': {bomb}}}, filename=__file__,
    triton_meta={{'signature': {{'x': '*fp32', 'n': 'i32', 'BLOCK': 'constexpr'}}, 'device': {bomb}}},
    inductor_meta={{'kernel_name': 'double', 'grid_type': 'Grid1D', 'planted': {bomb}}})
@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + index, {bomb}, index < n)
''', device_str='cuda')
async_compile.wait(globals())

def call(args, _={bomb}):
    arg0_1, = args
    s0 = arg0_1.size()[0]
    {bomb}
    double.run(arg0_1, s0 + {bomb}, stream={bomb})
    return ({bomb},)

if __name__ == "__main__":
    {bomb}
call([{bomb}])
"""


def write(folder: Path, bomb: str, statement: str, pickled: bytes) -> None:
    """All inputs: a kernel with launch file, a Python wrapper, a package, the same unpacked, hostile launch files."""
    folder.mkdir()
    (folder / "planted_module.py").write_text(f"{statement}\n")
    (folder / "kernel.py").write_text(KERNEL.format(bomb=bomb, text=statement))
    (folder / "kernel.toml").write_text(LAUNCH)
    (folder / "output_code.py").write_text(OUTPUT_CODE.format(bomb=bomb))
    plain = KERNEL.format(bomb="0", text="0")
    for place, launch in _hostile_launch_files(bomb).items():
        (folder / f"{place}.py").write_text(plain)
        (folder / f"{place}.toml").write_text(launch)
    members = _members(bomb, statement, pickled)
    with zipfile.ZipFile(folder / "package.pt2", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    for name, content in members.items():
        path = folder / "unpacked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _hostile_launch_files(bomb: str) -> dict[str, str]:
    text = json.dumps(bomb)
    return {
        "grid": LAUNCH.replace('"cdiv(n, BLOCK)"', text),
        "shape": LAUNCH.replace('["n"]', f"[{text}]"),
        "argument": LAUNCH.replace("[types]", f"[arguments]\nn = {text}\n[types]"),
        "constant": LAUNCH.replace("BLOCK = 128", f"BLOCK = {text}"),
        "type": LAUNCH.replace('n = "i32"', f"n = {text}"),
    }


def _members(bomb: str, statement: str, pickled: bytes) -> dict[str, bytes]:
    """A real package with code in kernel comments, decorators, commands, metadata, and members that a loader would run."""
    members: dict[str, bytes] = {}
    with zipfile.ZipFile(FIXTURES / "layernorm.small.pt2") as archive:
        for name in archive.namelist():
            if not name.endswith(".so"):
                members[name] = archive.read(name)
    wrapper = next(name for name in members if name.endswith(".wrapper.cpp"))
    source = members[wrapper].decode()
    source = source.replace("    import triton\n", f"    import triton\n    import planted_module\n    {bomb}\n")
    source = source.replace("'kernel_name':", f"'planted': {bomb}, 'kernel_name':")
    source = source.replace("    @triton.jit", f"    @(lambda f, _={bomb}: f)\n    @triton.jit")
    assert source.count(bomb) >= 3
    source += f"\n// Compile cmd\n// $({statement})\n// Link cmd\n// ;{statement};\n"
    members[wrapper] = source.encode()
    metadata = wrapper.replace(".cpp", "_metadata.json")
    described = json.loads(members[metadata])
    described["__reduce__"] = described["!!python/object/apply:os.system"] = [statement]
    members[metadata] = json.dumps(described).encode()
    folder = wrapper.rpartition("/")[0]
    for name in ("sitecustomize.py", "__init__.py", "conftest.py", "patches/planted.py", "planted_module.py", "a.pth"):
        members[f"{folder}/{name}"] = statement.encode()
    for name in ("data.pkl", "constants.pt", "weights/weight_0", "x.so", "a.pyc"):
        members[f"{folder}/{name}"] = pickled
    return members
