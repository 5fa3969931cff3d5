"""Kernels on the labelled rows, without what held-out rows gave them."""

import numpy as np
import pytest

from halfmoon import DataDependentKernel
from halfmoon.geometry import restrict_further
from halfmoon.kernels import KernelExtension
from halfmoon.semi_supervised import KernelMixture


@pytest.mark.parametrize("method", ["efficient", "budget", "full"])
def test_held_out_rows_are_no_landmarks(rng, method):
    X = rng.normal(size=(80, 3))
    labeled = rng.permutation(80)[:20]
    landmarks = np.concatenate([labeled[5:], np.setdiff1d(np.arange(80), labeled)[:15]])  # five are no landmarks
    kernel = DataDependentKernel(method=method, landmarks=landmarks, extension="kernel", ridge=1e-2).fit(X)
    left_out = np.isin(kernel.landmark_indices_, labeled[rng.permutation(20)[:8]])
    kept = np.flatnonzero(~left_out)
    fewer = KernelExtension(
        kernel.base_kernel_,
        kernel.landmarks_[kept],
        kernel.K_hat_[np.ix_(kept, kept)],
        restrict_further(kernel.regularizer_, kernel.restriction_, kept),
        kernel.eta_,
    )
    found = KernelMixture(kernel.warped_, X[labeled], None).extended_without(left_out)
    np.testing.assert_allclose(found, fewer.gram(X[labeled], X[labeled]), atol=1e-8)
