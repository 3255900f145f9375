"""Mutates packages, kernels, wrappers and launch files: `python -m tests.fuzz [--count 10000] [--seed N]`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from collections import Counter

from tests.fuzz.trial import Trial, try_seed

_MEMORY = 6 << 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each input is made from one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    counts: Counter[tuple[str, str]] = Counter()
    problems = 0
    with multiprocessing.Pool(arguments.jobs, _limit_memory) as pool:
        for trial in pool.imap_unordered(try_seed, seeds, chunksize=20):
            counts[trial.kind, trial.verdict] += 1
            problems += bool(trial.problem)
            _show(trial)
    for (kind, verdict), count in sorted(counts.items()):
        print(f"{kind:18} {verdict:8} {count:6}")
    print(f"{arguments.count} inputs, {problems} problem(s), {time.perf_counter() - start:.0f} s")
    return 1 if problems else 0


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _show(trial: Trial) -> None:
    if trial.problem:
        print(f"seed {trial.seed} ({trial.kind}): {trial.problem}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
