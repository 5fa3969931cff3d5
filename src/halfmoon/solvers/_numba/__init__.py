"""Compiled functions of the tiled solvers: arrays in, arrays out; no scipy, no scikit-learn, no I/O."""
