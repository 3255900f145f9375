"""Prints time and memory of the audit as ratios to the floor, and the time of diffs: `python -m tests.bench [--quick]`."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kernelscope.audit import audit
from kernelscope.audit.processes import available_processors
from kernelscope.diffing import diff
from kernelscope.report.console import TextStyle
from kernelscope.report.diff_text import diff_text
from tests.bench.floor import floor_of, medians
from tests.bench.packaging import added_shares
from tests.bench.patching import Compared, add_random_weights, copy_seconds, patch_and_floor
from tests.bench.replaying import replay_cost, slowest_finding
from tests.bench.synthetic import write_changed, write_package
from tests.bench.templates import FIXTURES
from tests.bench.weights import add_sparse_weights, time_and_peak

ROUNDS = 3
RATIO, FLAT, WEIGHTS_RATIO, WEIGHTS_MB, VERSION_MS = 4.0, 0.20, 1.2, 250.0, 150.0
DIFF_SECONDS, DIFFERING = 3.0, ((10, "1 in 10 changed"), (400, "1 in 400 changed"), (1, "all changed"))
PACKAGING, PACKAGED = 0.05, ("swiglu", "permute4", "rmsnorm")
REPLAY_SECONDS, MEMORY_MB, PATCH_RATIO, COPY_RATIO = 2.0, 500.0, 1.3, 1.5
PATCHED = (("layernorm", "COMMENT"), ("i64bound", "REBUILT"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="25 and 50 kernels in place of 100, 500 and 2,000")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    counts = (25, 50) if arguments.quick else (100, 500, 2000)
    with tempfile.TemporaryDirectory() as folder:
        missed = sum(not met for met in _all(Path(folder), counts, arguments.rounds))
    print(f"{missed} target(s) missed" if missed else "all targets met")
    return 1 if missed else 0


def _all(folder: Path, counts: tuple[int, ...], rounds: int) -> Iterator[bool]:
    yield _ratio("resnet18", FIXTURES / "resnet18.unbounded.pt2", rounds)[1]
    each: list[float] = []
    for count in counts:
        package = folder / f"synthetic{count}.pt2"
        write_package(package, count)
        taken, met = _ratio(f"{count:,} distinct kernels", package, rounds)
        each.append(taken / count)
        print(f"{'':30} {each[-1] * 1000:8.2f} ms a kernel")
        if count == counts[-1]:
            _by_the_clock(f"elapsed, {count:,} kernels", package)
            yield met
    spread = (max(each) - min(each)) / min(each)
    yield _line("spread of the time a kernel", f"{spread:.0%}", spread <= FLAT, f"{FLAT:.0%}")
    yield from _diffs(folder, counts[-1], rounds)
    yield from _weights(folder, rounds)
    yield _version()
    yield from _packaging(folder)
    yield from _replaying(folder, rounds)
    yield from _patching(folder, rounds, 2 << 30)


def _ratio(label: str, package: Path, rounds: int) -> tuple[float, bool]:
    floor = floor_of(package)
    taken, least = medians([lambda: audit([str(package)]), floor.run], rounds)
    met = taken <= RATIO * least
    _line(f"audit of {label}", f"{taken:.3f} s = {taken / least:.2f} x floor ({least:.3f} s)", met, f"{RATIO:g} x")
    return taken, met


def _diffs(folder: Path, count: int, rounds: int) -> Iterator[bool]:
    before, after = folder / f"synthetic{count}.pt2", folder / "changed.pt2"
    for every, label in DIFFERING:
        write_changed(after, before, every)
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            diff_text(diff(before, after), TextStyle())
            times.append(time.perf_counter() - start)
        taken = statistics.median(times)
        target = f"{DIFF_SECONDS:g} s"
        yield _line(f"diff of {count:,}, {label}", f"{taken:.2f} s", taken <= DIFF_SECONDS, target)


def _by_the_clock(label: str, package: Path) -> None:
    """Elapsed time in one process and in as many as there are processors."""
    alone, apart = (_elapsed(lambda jobs=jobs: audit([str(package)], jobs=jobs)) for jobs in (1, 0))  # type: ignore[misc]
    count = available_processors()
    print(f"{label:36} {alone:.1f} s in one process, {apart:.1f} s in {count} ({alone / apart:.2f} x)")


def _elapsed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _weights(folder: Path, rounds: int) -> Iterator[bool]:
    plain = FIXTURES / "layernorm.unbounded.pt2"
    heavy = folder / "heavy.pt2"
    add_sparse_weights(plain, heavy, 8 << 30)
    pairs = [(time_and_peak(plain), time_and_peak(heavy)) for _ in range(rounds)]
    without, within = (statistics.median(p[side][0] for p in pairs) for side in (0, 1))
    peak = max(p[1][1] for p in pairs)
    ratio = within / without
    yield _line("8 GiB of weights against none", f"{ratio:.2f} x", ratio <= WEIGHTS_RATIO, f"{WEIGHTS_RATIO:g} x")
    yield _line("peak memory with 8 GiB of weights", f"{peak:.0f} MB", peak <= WEIGHTS_MB, f"{WEIGHTS_MB:g} MB")


def _packaging(folder: Path) -> Iterator[bool]:
    if importlib.util.find_spec("torch") is None or shutil.which("g++") is None:
        print("packaging: not measured, as torch or g++ is missing")
        return
    shares = added_shares(folder, PACKAGED)
    worst = max(shares)
    yield _line("added to torch's packaging call", f"{worst:.1%} at most", worst <= PACKAGING, f"{PACKAGING:.0%}")


def _replaying(folder: Path, rounds: int) -> Iterator[bool]:
    if importlib.util.find_spec("torch") is None:
        print("replay: not measured, as torch is missing")
        return
    package, finding = slowest_finding(sorted(FIXTURES.glob("*.pt2")))
    taken, peak = replay_cost(package, finding, rounds, folder)
    label = f"replay of {package.stem.partition('.')[0]} {finding.partition('-')[0]}, the slowest"
    yield _line(label, f"{taken:.2f} s", taken <= REPLAY_SECONDS, f"{REPLAY_SECONDS:g} s")
    yield _line("peak memory of it, children too", f"{peak:.0f} MB", peak <= MEMORY_MB, f"{MEMORY_MB:g} MB")


def _patching(folder: Path, rounds: int, weights: int) -> Iterator[bool]:
    if importlib.util.find_spec("torch") is None or shutil.which("g++") is None:
        print("patch: not measured, as torch or g++ is missing")
        return
    for name, change in PATCHED:
        runs = [patch_and_floor(FIXTURES / f"{name}.unbounded.pt2", folder, change) for _ in range(rounds)]
        yield _compared(f"patch of {name}", runs, PATCH_RATIO)
    heavy = folder / "random.pt2"
    add_random_weights(FIXTURES / "layernorm.unbounded.pt2", heavy, weights)
    runs = [patch_and_floor(heavy, folder, "COMMENT", copy_seconds) for _ in range(rounds)]
    yield _compared("patch beside 2 GiB of weights", runs, COPY_RATIO)
    peak = max(run.peak_mb for run in runs)
    yield _line("peak memory of it, children too", f"{peak:.0f} MB", peak <= MEMORY_MB, f"{MEMORY_MB:g} MB")


def _compared(label: str, runs: list[Compared], target: float) -> bool:
    """The median ratio to the floor, and the one to a floor that would not import torch."""
    run = sorted(runs, key=lambda one: one.ratio)[len(runs) // 2]
    print(f"{'':36} {run.taken / (run.floor - run.imported):.2f} x a floor without the {run.imported:.1f} s of `import torch`")
    value = f"{run.taken:.1f} s = {run.ratio:.2f} x floor ({run.floor:.1f} s)"
    return _line(label, value, run.ratio <= target, f"{target:g} x")


def _version() -> bool:
    program = Path(sys.executable).parent / "kernelscope"
    command = [str(program)] if program.exists() else [sys.executable, "-m", "kernelscope"]
    command.append("--version")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    taken = statistics.median(times) * 1000
    return _line("kernelscope --version", f"{taken:.0f} ms", taken <= VERSION_MS, f"{VERSION_MS:g} ms")


def _line(label: str, value: str, met: bool, target: str) -> bool:
    print(f"{label:36} {value:38} target {target:8} {'met' if met else 'MISSED'}", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
