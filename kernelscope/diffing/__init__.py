"""Two artifacts compared kernel by kernel: `diff(before, after) -> ArtifactDiff`."""

from kernelscope.diffing.comparison import diff, diff_patched

__all__ = ["diff", "diff_patched"]
