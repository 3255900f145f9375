"""Safe kernels, one a row, with the bound that proves each: the nearest to its limit first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from kernelscope.audit.results import KernelResult, Proof
from kernelscope.report.quantities import share_text

_MAX_ROWS = 12
_MAX_NAME = 36


def safe_table(kernels: Sequence[KernelResult]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    table.add_column("kernel", no_wrap=True, max_width=_MAX_NAME)
    table.add_column("reaches", no_wrap=True, justify="right")
    table.add_column("of", no_wrap=True)
    table.add_column("", no_wrap=True, justify="right")
    table.add_column("bound", overflow="fold")
    ordered = sorted(kernels, key=lambda kernel: -share(kernel))
    for kernel in ordered[:_MAX_ROWS]:
        table.add_row(Text(_shortened(kernel.name)), *_cells(tightest(kernel)))
    if len(ordered) > _MAX_ROWS:
        table.add_row(Text(f"... and {len(ordered) - _MAX_ROWS} more", "quiet"), "", "", "", "")
    return table


def _cells(proof: Proof | None) -> tuple[Text, Text, Text, Text]:
    if proof is None:
        return Text("-"), Text("-"), Text(""), Text("no index that could wrap")
    return (
        Text(str(proof.largest_value)), Text(proof.type), Text(share_text(proof.largest_value, proof.limit)),
        Text(proof.bound),
    )  # fmt: skip


def _shortened(name: str) -> str:
    """The ends of a long name, which tell kernels apart."""
    if len(name) <= _MAX_NAME:
        return name
    tail = 12
    return f"{name[: _MAX_NAME - tail - 3]}...{name[-tail:]}"


def tightest(kernel: KernelResult) -> Proof | None:
    """The proof that comes nearest to its limit."""
    return max(kernel.proofs, key=_proof_share, default=None)


def share(kernel: KernelResult) -> float:
    """How much of its limit the kernel's largest index reaches, from 0 to 1."""
    proof = tightest(kernel)
    return _proof_share(proof) if proof is not None else 0.0


def _proof_share(proof: Proof) -> float:
    return proof.largest_value / proof.limit if proof.limit > 0 else 0.0
