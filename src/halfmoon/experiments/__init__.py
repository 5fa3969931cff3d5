"""Experiments and demonstrations, one file each."""
