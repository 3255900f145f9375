"""Rewrites of kernel and wrapper texts to 64-bit arithmetic: patches, and the strategies that choose among them.

A patch file needs only what is named here."""

from __future__ import annotations

from kernelscope.rewrite.edits import Declined, Edit, Example, Replacement

__all__ = ["Declined", "Edit", "Example", "Replacement"]
