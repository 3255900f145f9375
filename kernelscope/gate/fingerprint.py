"""What identifies a finding from one build to the next: the kernel's content, not its line nor its place in the file."""

from __future__ import annotations

from hashlib import sha256

from kernelscope.audit.results import Finding, KernelResult


def fingerprint(kernel: KernelResult | None, finding: Finding, occurrence: int) -> str:
    """64 hexadecimal digits from the kernel's text without its name, the code, the expression, and the how-manieth of its
    kind in the kernel it is (from 0). `kernel` is None for a finding of the model itself."""
    text = ""
    if kernel is not None and kernel.source is not None:
        text = "\n".join(line.rstrip() for line in kernel.source.text.replace(kernel.name, "kernel").splitlines())
    elif kernel is not None:
        text = kernel.name
    parts = (text, finding.code, finding.expression, str(occurrence))
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
