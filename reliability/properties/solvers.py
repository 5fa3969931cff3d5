"""Properties of solvers, landmark blocks and certificates."""

from __future__ import annotations

import warnings

import hypothesis.strategies as st
import numpy as np
from scipy import sparse

from benchmarks._certificate_cases import CASES_PER_GRAPH, FAILURES, check
from halfmoon import (
    restrict,
)
from halfmoon.geometry import restrict_powers
from halfmoon.graph import laplacian
from halfmoon.regularizers import HeatRegularizer, PowerRegularizer
from halfmoon.solvers import solve_sdd
from reliability.properties._claims import claim
from reliability.properties._data import FAMILIES, SEEDS, SIZES, SOLVER, close, graph


@claim(
    "no error bound is below the true error, to 40 digits",
    seed=SEEDS,
    place=st.integers(0, CASES_PER_GRAPH["small"] - 1),
)
def _certificate(seed: int, place: int) -> None:
    with warnings.catch_warnings():
        assert not [outcome for outcome in check("small", seed, place) if outcome.status in FAILURES]


@claim("A X = B is solved to the residual that is reported", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _solution(seed: int, n: int, family: str, solver: str) -> None:
    W = graph(seed, n, family)
    A = laplacian(W) + sparse.eye_array(n) * max(float(W.max()), 1e-300) * 1e-3
    B = np.random.default_rng(seed).normal(size=(n, 3))
    found = solve_sdd(A, B, solver=solver, n_jobs=1)
    true = np.linalg.norm(B - A @ found.X, axis=0)
    rounding = 1e-14 * n * abs(A).max() * np.abs(found.X).max(axis=0)
    assert (true <= found.residual_norms * (1 + 1e-6) + rounding).all()


@claim("solutions scale with their right-hand sides", seed=SEEDS, n=SIZES, exponent=st.integers(-900, 900))
def _solution_scales(seed: int, n: int, exponent: int) -> None:
    W = graph(seed, n, "clique")
    A = laplacian(W / W.max()) + sparse.eye_array(n)
    B = np.random.default_rng(seed).normal(size=n)
    close(np.ldexp(solve_sdd(A, np.ldexp(B, exponent)).X, -exponent), solve_sdd(A, B).X, 1e-12)


RIDGE = st.sampled_from([1e-6, 1e-3, 1.0])


def _q(seed: int, n: int, family: str, power: int, ridge: float) -> PowerRegularizer:
    return PowerRegularizer(graph(seed, n, family), power=power, ridge=ridge)


@claim(
    "landmark blocks are symmetric and semi-definite",
    seed=SEEDS,
    n=SIZES,
    family=FAMILIES,
    power=st.integers(1, 4),
    ridge=RIDGE,
)
def _block(seed: int, n: int, family: str, power: int, ridge: float) -> None:
    S = np.random.default_rng(seed).permutation(n)[: n // 2]
    found = restrict(_q(seed, n, family, power, ridge), S, n_jobs=1)
    size = max(float(np.abs(found.smooth).max()), np.finfo(float).tiny)
    assert np.abs(found.smooth - found.smooth.T).max() <= 1e-12 * size
    allowed = len(S) * size * (min(found.error_bound, 1.0) + 1e-12)
    assert np.linalg.eigvalsh(found.smooth).min() >= -allowed


@claim("permuted vertices give the permuted block", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _block_permutes(seed: int, n: int, family: str, solver: str) -> None:
    rng = np.random.default_rng(seed)
    W, p, S = graph(seed, n, family), rng.permutation(n), rng.permutation(n)[: n // 2]
    place = np.argsort(p)
    first = restrict(PowerRegularizer(W, ridge=1e-2), S, solver=solver, n_jobs=1)
    second = restrict(PowerRegularizer(W[p][:, p], ridge=1e-2), place[S], solver=solver, n_jobs=1)
    size = np.abs(first.smooth).max()
    allowed = 1.01 * size * (first.error_bound + 2.0 * second.error_bound) + 1e-300
    assert np.abs(first.smooth - second.smooth).max() <= allowed


@claim("blocks do not depend on the number of threads", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _block_threads(seed: int, n: int, family: str, solver: str) -> None:
    S = np.arange(0, n, 2)
    blocks = [restrict(_q(seed, n, family, 2, 1e-3), S, solver=solver, n_jobs=jobs).smooth for jobs in (1, 2)]
    assert np.array_equal(*blocks)


@claim("blocks of a chain of powers are those of each power", seed=SEEDS, n=SIZES, family=FAMILIES, ridge=RIDGE)
def _chain(seed: int, n: int, family: str, ridge: float) -> None:
    S = np.arange(0, n, 3)
    chain = restrict_powers(_q(seed, n, family, 1, ridge), S, (1, 2, 3), n_jobs=1)
    for power, found in chain.items():
        alone = restrict(_q(seed, n, family, power, ridge), S, n_jobs=1)
        size = np.abs(alone.smooth).max(initial=0.0)
        allowed = 1.01 * size * (alone.error_bound + 2.0 * found.error_bound) + 1e-300
        assert np.abs(found.smooth - alone.smooth).max(initial=0.0) <= allowed


@claim("streamed blocks are stored ones within their bounds", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _streamed(seed: int, n: int, family: str, solver: str) -> None:
    S = np.arange(0, n, 2)
    stored, streamed = (
        restrict(_q(seed, n, family, 2, 1e-2), S, solver=solver, n_jobs=1, max_memory=memory) for memory in (None, 1)
    )
    size = np.abs(stored.smooth).max(initial=0.0)
    allowed = 1.01 * size * (stored.error_bound + 2.0 * streamed.error_bound) + 1e-300
    assert np.abs(stored.smooth - streamed.smooth).max(initial=0.0) <= allowed


@claim("heat blocks of t and 2 t are ordered", seed=SEEDS, n=SIZES, t=st.floats(0.01, 5.0))
def _heat(seed: int, n: int, t: float) -> None:
    W = graph(seed, n, "clique")
    S = np.arange(0, n, 2)
    small, large = (restrict(HeatRegularizer(W, t=time), S).smooth for time in (t, 2 * t))
    assert np.linalg.eigvalsh(small - large).min() >= -1e-6 * np.abs(small).max()
