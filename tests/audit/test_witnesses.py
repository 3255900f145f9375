"""A witness is real: the kernel's own text, run at that point, does another thing than it should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import Consequence, KernelResult, UnsafeFinding, Witness
from tests.audit.one_lane import grid_of, run
from tests.audit.packages import EXPECTED, only_model, package
from tests.audit.test_verdicts import UNSAFE, audited

_NO_POINT = {"KS202", "KS302", "KS303", "KS304", "KS305"}  # loops, grids and host values have no access that differs
NAMES = [name for name in UNSAFE if name != "softmax2d.huge"]
#: Hand-written kernels with helper functions, sizes scaled by a float.
OTHERS = ["conv3d", "im2col", "nearestexact", "padcircular", "userreverse", "usermatvec"]


def differs(kernel: KernelResult, finding: UnsafeFinding, witness: Witness) -> bool:
    launch = kernel.launches[0] if not finding.launch_indices else next(
        launch for launch in kernel.launches if launch.index in finding.launch_indices
    )  # fmt: skip
    exact, machine = (run(kernel, launch, witness, exact=mode) for mode in (True, False))
    assert any(access is not None for access in exact.seen + machine.seen), "no lane is live at the witness"
    return exact.seen != machine.seen or exact.bounds != machine.bounds


@pytest.mark.parametrize("name", [*NAMES, *(f"extra/{name}.unbounded" for name in OTHERS)])
def test_kernel_differs_at_the_witness(name: str) -> None:
    checked = 0
    for kernel in only_model(audited(name)).kernels:
        for finding in kernel.findings:
            if not isinstance(finding, UnsafeFinding) or finding.code in _NO_POINT:
                continue
            assert differs(kernel, finding, finding.witness), finding.id
            checked += 1
    assert checked


@pytest.mark.parametrize("name", [n for n in NAMES if EXPECTED[n]["kernels"] == 1])
def test_kernel_is_right_at_the_same_point_one_size_before(name: str) -> None:
    """At the largest safe size the last program does what it should, at the lane where the next size fails."""
    (symbol, largest), *others = EXPECTED[name]["largest_safe"].items()
    ranges = {symbol: (2, largest + 1), **{other: (64, 64) for other, _ in others}}
    (artifact,) = audit([package(name)], ranges=ranges, device_memory=None).artifacts
    (kernel,) = only_model(artifact).kernels
    for finding in kernel.findings:
        if not isinstance(finding, UnsafeFinding) or finding.code in _NO_POINT:
            continue
        assert differs(kernel, finding, finding.witness)
        before = replace(finding.witness, symbols={**finding.witness.symbols, symbol: largest})
        last = grid_of(kernel.launches[0], before)
        x, y, z = (min(i, size - 1) for i, size in zip(before.program_id, last, strict=True))
        point = replace(before, program_id=(x, y, z))
        exact, machine = (run(kernel, kernel.launches[0], point, exact=mode) for mode in (True, False))
        assert exact.seen == machine.seen
        assert exact.bounds == machine.bounds


def test_the_witness_of_an_endless_loop_is_a_program_in_which_it_does_not_end() -> None:
    """Of 264 programs that stride over the elements, only some step past 2**31 - 1 before they reach the end."""
    model = only_model(audited("extra/userstrided.unbounded"))
    endless = [
        f for k in model.kernels for f in k.findings
        if isinstance(f, UnsafeFinding) and f.consequence is Consequence.ENDLESS_LOOP
    ]  # fmt: skip
    assert [f.witness.program_id for f in endless] == [(200, 0, 0)]
    witness = endless[0].witness
    count, step, start = witness.symbols["s33"] * witness.symbols["s50"], 264 * 1024, 200 * 1024
    past = start + -(-(count - start) // step) * step
    assert (witness.exact, witness.wrapped) == (past, -(2**31)) and past == 2**31


def test_a_bound_that_arrives_wrapped_makes_no_endless_loop() -> None:
    """The loop over K of a template never runs at 2**35, where K arrives as a negative number: that is KS301's matter."""
    model = only_model(audited("extra/mmdynamic.unbounded"))
    findings = [f for k in model.kernels for f in k.findings if isinstance(f, UnsafeFinding)]
    assert not [f for f in findings if f.consequence is Consequence.ENDLESS_LOOP]
    assert {f.code for f in findings} >= {"KS301", "KS202"}
