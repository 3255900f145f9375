"""Packages on a real GPU, before and after the patch: `make gpu-check`. Without a GPU it says so and ends."""
