"""Numba kernels of the graph layer: arrays in, arrays out."""
