"""One mutated input through the audit: crashes, hangs and safe verdicts that sampling refutes."""

from __future__ import annotations

import signal
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kernelscope.artifact import open_artifact
from kernelscope.audit import audit
from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.audit.results import Verdict
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY
from kernelscope.launches import read_launch_file
from tests.fuzz.inputs import Input, draw_input
from tests.fuzz.sampling import Sampler

SECONDS = 10
_TRIES = 300


class Hang(BaseException):
    """The audit took too long."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one seed. `problem`: empty when all is well."""

    seed: int
    kind: str
    verdict: str
    problem: str


def try_seed(seed: int) -> Trial:
    """Draw the input of a seed and audit it."""
    random = Random(seed)
    kind, drawn = draw_input(random)
    with tempfile.TemporaryDirectory(prefix="kernelscope-fuzz-") as folder:
        for name, data in drawn.files.items():
            (Path(folder) / name).write_bytes(data)
        verdict, problem = _audited(Path(folder), drawn, random)
    return Trial(seed, kind, verdict, problem)


def _audited(folder: Path, drawn: Input, random: Random) -> tuple[str, str]:
    launch = None if drawn.launch is None else str(folder / drawn.launch)
    try:
        with _limited(SECONDS):
            result = audit([str(folder / drawn.path)], launch_file=launch).artifacts[0]
    except Hang:
        return "hang", f"took more than {SECONDS} s\n{traceback.format_exc(limit=-8)}"
    except Exception:  # noqa: BLE001  whatever it is, it is the finding
        return "crash", traceback.format_exc(limit=-8)
    if result.error is not None:
        return "error", "" if "\n" not in result.error else f"an error of several lines: {result.error!r}"
    if drawn.arithmetic and result.verdict is Verdict.SAFE:
        return "safe", _refutation(folder, drawn, random) or ""
    return result.verdict.word, ""


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raises Hang after that many seconds of processor time: a busy machine is no hang."""

    def stop(signum: int, frame: object) -> None:
        raise Hang

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _refutation(folder: Path, drawn: Input, random: Random) -> str | None:
    assert drawn.launch is not None
    source = open_artifact(str(folder / drawn.path)).models[0].sources[0]
    facts = read_launch_file(drawn.files[drawn.launch].decode(), drawn.launch, source.text, source.path)
    reader = KernelReader({})
    for launch in facts.launches:
        kernel = reader.read(facts.kernels[0])
        if not isinstance(kernel, Readable):
            return "an unreadable kernel was called safe"
        for program in reader.programs(kernel, launch).programs:
            found = Sampler(program, launch, facts.symbols, DEFAULT_DEVICE_MEMORY, random).refutation(_TRIES)
            if found is not None:
                return f"called safe, but {found}\n{drawn.files[drawn.path].decode()}"
    return None
