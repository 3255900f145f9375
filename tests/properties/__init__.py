"""Analyses of random programs against brute force at narrow widths."""
