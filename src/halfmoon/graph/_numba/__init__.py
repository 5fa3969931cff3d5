"""Compiled functions of the graph layer: arrays in, arrays out."""
