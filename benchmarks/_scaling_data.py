"""Data of any size, made on the fly: curved patches in 32 dimensions, and deformed handwritten digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["curved_patches", "deformed_digits"]

BLOCK = 100_000  # rows made at once
SHARED = 20  # dimensions that the patches lie in


def curved_patches(
    n: int, *, seed: int, draw: int = 0, classes: int = 10, features: int = 32
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return points of curved patches, one per class, of 4 to 8 intrinsic dimensions, and their classes.

    A patch is the image of a cube under a random smooth map, sin(A z + b), in a space of 20 dimensions that all patches
    share, with a little noise in all 32. The `seed` draws the patches, `draw` the points: two draws with one seed come
    from the same patches.
    """
    maps, points = np.random.default_rng(seed), np.random.default_rng((seed, draw))
    frame = np.linalg.qr(maps.normal(size=(features, features)))[0][:SHARED]
    patches = []
    for c in range(classes):
        q = 4 + c % 5
        patches.append((maps.normal(size=(q, SHARED)) * 2.0 / np.sqrt(q), maps.uniform(0, 2 * np.pi, SHARED)))
    X, y = np.empty((n, features), np.float32), points.integers(classes, size=n)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        for c, (A, b) in enumerate(patches):
            of_class = start + np.flatnonzero(y[rows] == c)
            z = points.uniform(-1, 1, size=(len(of_class), len(A)))
            X[of_class] = np.sin(z @ A + b) @ frame + 0.05 * points.normal(size=(len(of_class), features))
    return X, y


def deformed_digits(
    data: Path, digits: tuple[int, ...], n: int, *, seed: int, held_out: bool = False
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return n handwritten digits: all originals first, in random order, then smoothly deformed copies of them.

    A tenth of the originals is held out: neither they nor copies of them are among the others.
    """
    rng, archive = np.random.default_rng(seed), np.load(data / "mnist.npz")
    rows = rng.permutation(np.flatnonzero(np.isin(archive["y"], digits)))
    kept = len(rows) - len(rows) // 10
    rows = rows[kept:] if held_out else rows[:kept]
    images, y = archive["X"][rows].reshape(-1, 28, 28), archive["y"][rows]
    source = np.arange(n) % len(rows)
    X = np.empty((n, 784), np.uint8)
    for start in range(0, n, BLOCK):
        part = source[start : start + BLOCK]
        copies = images[part]
        new = np.arange(start, start + len(part)) >= len(rows)
        copies[new] = _deformed(copies[new], rng)
        X[start : start + BLOCK] = copies.reshape(len(part), 784)
    return X, y[source].astype(np.int64)


def _deformed(images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Rotate, scale, shear and shift images at random, and bend them by a wave of low frequency."""
    out = np.empty_like(images)
    for start in range(0, len(images), 2_000):
        part = images[start : start + 2_000].astype(np.float32)
        out[start : start + 2_000] = _sampled(part, *_coordinates(len(part), rng))
    return out


def _coordinates(m: int, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return, for each pixel of m images, the place in the original that it shows."""
    center = np.arange(28, dtype=np.float32) - 13.5
    v, u = np.meshgrid(center, center, indexing="ij")

    def drawn(spread: float) -> NDArray[np.float32]:
        return rng.normal(0.0, spread, (m, 1, 1)).astype(np.float32)

    angle, shear, scale = drawn(0.12), drawn(0.08), np.exp(drawn(0.07))
    vertical = scale * (np.cos(angle) * v - np.sin(angle) * u) + drawn(0.8)
    horizontal = scale * (np.sin(angle) * v + np.cos(angle) * u + shear * v) + drawn(0.8)
    wave = np.float32(2 * np.pi / 28)
    vertical = vertical + drawn(0.6) * np.sin(wave * u + drawn(3.0))
    horizontal = horizontal + drawn(0.6) * np.sin(wave * v + drawn(3.0))
    return vertical + 13.5, horizontal + 13.5


def _sampled(
    images: NDArray[np.float32], vertical: NDArray[np.float32], horizontal: NDArray[np.float32]
) -> NDArray[np.uint8]:
    """Return images at places between their pixels, by bilinear interpolation; outside they are 0."""
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    v, u = np.clip(vertical + 1, 0, 29), np.clip(horizontal + 1, 0, 29)
    i, j = v.astype(np.intp), u.astype(np.intp)
    s, t, which = v - i, u - j, np.arange(len(images))[:, None, None]
    upper = (1 - t) * padded[which, i, j] + t * padded[which, i, j + 1]
    lower = (1 - t) * padded[which, i + 1, j] + t * padded[which, i + 1, j + 1]
    return np.rint((1 - s) * upper + s * lower).astype(np.uint8)
