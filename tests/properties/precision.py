"""How much is proved: `python -m tests.properties.precision [--count N] [--seed N]`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from random import Random

from kernelscope.audit.results import Verdict
from tests.properties.agreement import compare, small_case, small_kernel


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.precision", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", action="store_true", help="kernels as text in place of narrow programs")
    arguments = parser.parse_args()
    counts: Counter[tuple[bool, Verdict]] = Counter()
    wrong, start = 0, time.perf_counter()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        try:
            random = Random(seed)
            agreement = compare(small_kernel(random)[1] if arguments.texts else small_case(random))
        except Exception:  # noqa: BLE001  a crash is a wrong answer too
            wrong += 1
            print(f"seed {seed}: {traceback.format_exc(limit=-3)}", flush=True)
            continue
        if not agreement.vacuous:
            counts[agreement.is_safe, agreement.verdict] += 1
        wrong += bool(agreement.disagreements)
        for text in agreement.disagreements:
            print(f"seed {seed}: {text}", flush=True)
    print(summary(counts, wrong), f"in {time.perf_counter() - start:.0f} s")
    return 1 if wrong else 0


def summary(counts: Counter[tuple[bool, Verdict]], wrong: int) -> str:
    """One line: how many safe programs were not proved safe, and how many unsafe ones have no witness."""
    safe = sum(n for (is_safe, _), n in counts.items() if is_safe)
    unsafe = sum(counts.values()) - safe
    unproved = safe - counts[True, Verdict.SAFE]
    unseen = unsafe - counts[False, Verdict.UNSAFE]
    return (
        f"{safe + unsafe} programs: {unproved} of {safe} safe ones not proved safe ({unproved / max(1, safe):.1%}), "
        f"{unseen} of {unsafe} unsafe ones without a witness ({unseen / max(1, unsafe):.1%}), {wrong} wrong answers"
    )


if __name__ == "__main__":
    sys.exit(main())
