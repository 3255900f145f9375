"""Mutated packages, kernels, wrappers and launch files: `python -m tests.fuzz`."""
