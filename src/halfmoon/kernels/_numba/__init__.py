"""Compiled loops of the base kernels."""
