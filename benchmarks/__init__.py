"""Benchmarks: speed as ratios against peers, measured in one run."""
