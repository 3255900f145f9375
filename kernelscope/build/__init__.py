"""Builds what a patch changed."""
