"""What a patch takes beside what nobody can save: Triton's compilation of the same kernels, g++ on the same files, a copy."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernelscope.build import RebuiltLibrary, WrapperSources, rebuild_library
from tests.bench.process_tree import Ran, run_watched

#: A patch, and what it had compiled.
_PATCH = """
import json, pickle, sys, time
from kernelscope.build import kernel_compiler
from kernelscope.patching import patch
asked = []
compiled = kernel_compiler.KernelCompiler.compile
def noted(self, requests, progress=None):
    asked.extend(requests)
    return compiled(self, requests, progress)
kernel_compiler.KernelCompiler.compile = noted
start = time.perf_counter()
report = patch(sys.argv[1], sys.argv[2])
taken = time.perf_counter() - start
with open(sys.argv[3], "wb") as file:
    pickle.dump(list(dict.fromkeys(map(pickle.dumps, asked))), file)
print(json.dumps([taken, report.ok, [change.name for change in report.wrappers.values()]]))
"""
#: The same kernels as any script would compile them: torch imported for Inductor's helper functions, a process a core.
_COMPILE = """
import json, multiprocessing, os, pickle, sys, time
start = time.perf_counter()
import torch._inductor.runtime.triton_helpers
import triton
imported = time.perf_counter() - start
from kernelscope.build.compile_child import _compiled
from kernelscope.build.kernel_compiler import _plain
with open(sys.argv[1], "rb") as file:
    asked = [json.loads(json.dumps(_plain(pickle.loads(one)))) for one in pickle.load(file)]
os.environ.update(TRITON_ALWAYS_COMPILE="1", TRITON_CACHE_DIR=sys.argv[2])
with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
    done = pool.map(_compiled, asked, chunksize=1)
assert any("cubin" in one for one in done)
print(json.dumps([time.perf_counter() - start, imported]))
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """Seconds of a patch and of its floor; `imported` is the floor's import of torch, which the patch has no need of."""

    taken: float
    floor: float
    imported: float
    peak_mb: float

    @property
    def ratio(self) -> float:
        return self.taken / self.floor


def patch_and_floor(package: Path, folder: Path, change: str, copied: Callable[[Path], float] | None = None) -> Compared:
    """One patch and its floor. `change`: what must become of the wrapper (`REBUILT`, `COMMENT`); `copied`: seconds of
    copying the package, part of the floor."""
    output, asked = folder / "patched.pt2", folder / "asked.pickle"
    output.unlink(missing_ok=True)
    patched = run_watched([sys.executable, "-c", _PATCH, str(package), str(output), str(asked)], folder)
    taken, ok, changes = json.loads(patched.output.splitlines()[-1])
    assert ok and changes == [change], changes
    compiled, imported = _compiled(asked, folder)
    built = _built(package, output, folder) if change == "REBUILT" else 0.0
    output.unlink()
    copy = copied(package) if copied is not None else 0.0
    return Compared(taken, compiled + built + copy, imported, patched.peak_mb)


def _compiled(asked: Path, folder: Path) -> tuple[float, float]:
    ran: Ran = run_watched([sys.executable, "-c", _COMPILE, str(asked), str(folder / "triton")], folder)
    total, imported = json.loads(ran.output.splitlines()[-1])
    shutil.rmtree(folder / "triton", ignore_errors=True)
    return total, imported


def _built(package: Path, patched: Path, folder: Path) -> float:
    """Seconds of compiling and linking the patched package's wrapper, and its CPU kernels where it has any."""
    library = folder / "old.so"
    with zipfile.ZipFile(package) as archive, zipfile.ZipFile(patched) as new:
        names = archive.namelist()
        (wrapper,) = [n for n in names if n.endswith(".wrapper.cpp")]
        (old,) = [n for n in names if n.endswith(".so")]
        kernel = next((n for n in names if n.endswith(".kernel.cpp")), None)
        library.write_bytes(archive.read(old))
        text = new.read(wrapper).decode()
        sources = WrapperSources(text, archive.read(kernel).decode() if kernel else None, library)
    start = time.perf_counter()
    result = rebuild_library(sources, folder / "new.so")
    taken = time.perf_counter() - start
    assert isinstance(result, RebuiltLibrary), result
    return taken


def copy_seconds(package: Path) -> float:
    """Seconds of a plain copy that is on the disk at the end, as the patched package is."""
    target = package.with_suffix(".copy")
    start = time.perf_counter()
    shutil.copyfile(package, target)
    with target.open("rb+") as file:
        os.fsync(file.fileno())
    taken = time.perf_counter() - start
    target.unlink()
    return taken


def add_random_weights(source: Path, target: Path, size: int) -> None:
    """A copy of a package with a stored member of `size` bytes, none of which the file system can leave out."""
    shutil.copy(source, target)
    with zipfile.ZipFile(target, "a", allowZip64=True) as archive:
        stem = archive.namelist()[0].partition("/")[0]
        with archive.open(f"{stem}/data/weights/weight_0", "w", force_zip64=True) as member:
            block = os.urandom(16 << 20)
            for number in range(size // len(block)):
                member.write(number.to_bytes(8, "little") + block[8:])
    with target.open("rb+") as file:
        os.fsync(file.fileno())
