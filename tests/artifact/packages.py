"""Builds small packages, sound and damaged, for the tests of intake."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

PREFIX = "model/data/aotinductor/model/"
WRAPPER = "void AOTInductorModel::run_impl() {\n}\n"
METADATA = json.dumps({"AOTI_DEVICE_KEY": "cuda", "AOTI_COMPUTE_CAPABILITY": "90"})
KERNEL = """import triton
import triton.language as tl

@triton.jit
def double(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 2)
"""
PYTHON_WRAPPER = f"""from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()
double = async_compile.triton('double', '''
{KERNEL}
''', device_str='cuda')

def call(args):
    double.run(args, grid=(1,), stream=0)
"""


def write_package(path: Path, members: dict[str, str | bytes] | None = None, method: int = zipfile.ZIP_STORED) -> Path:
    """A package with one wrapper and its metadata unless other members are given."""
    default: dict[str, str | bytes] = {f"{PREFIX}a.wrapper.cpp": WRAPPER, f"{PREFIX}a.wrapper_metadata.json": METADATA}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in (members or default).items():
            archive.writestr(name, content)
    return path
