"""Clustering in the data-dependent kernel."""

from halfmoon.cluster._kernel_kmeans import KernelKMeans

__all__ = ["KernelKMeans"]
