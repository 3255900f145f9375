"""Which findings count: those that a baseline accepts or a suppression names do not fail a build.

A verdict stays what it is; only the exit status and the reports' own words about it change."""

from kernelscope.gate.gating import GatedAudit, gate

__all__ = ["GatedAudit", "gate"]
