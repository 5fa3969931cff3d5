"""Feature maps of data-dependent kernels."""

from halfmoon.features._landmark_features import LandmarkFeatures

__all__ = ["LandmarkFeatures"]
