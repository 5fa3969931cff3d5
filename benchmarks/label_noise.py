"""Wrong labels: how well they are found, beside cleanlab over the same features, and what it helps to doubt them.

Run ``python -m benchmarks.label_noise --data DIR`` (DIR with mnist.npz and letter.npz; cleanlab comes with the extra
"bench"). 5 and 10 % of up to 200 labels are replaced by another class at random. Figures are areas under the
precision-recall curve in per cent (average precision), means over draws.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._machine import machine
from halfmoon import LapRLSClassifier, LapSVC

Data = tuple[np.ndarray, np.ndarray]
N_LABELS = 200
RATES = (0.05, 0.1)
PEERS: dict[str, Callable[[], object]] = {
    "SVC": lambda: CalibratedClassifierCV(SVC(), ensemble=False),
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "10-NN": lambda: KNeighborsClassifier(10),
}
SCORES = ("self_confidence", "normalized_margin")  # of cleanlab
SCALINGS = {"as given": None, "standardized": StandardScaler()}  # pixels are better left alone, other features not
VARIANTS = [f"{scaling}, {score}" for scaling in SCALINGS for score in SCORES]


def gaussians(seed: int) -> Data:
    """Return two overlapping Gaussians in 50 dimensions; the best classifier errs on 3 %."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 1000)
    return rng.normal(size=(2000, 50)) + np.where(y, 1, -1)[:, None] * 1.88 / np.sqrt(50), y


def standardized(X: np.ndarray, y: np.ndarray) -> Data:
    """Return features of mean 0 and deviation 1."""
    return StandardScaler().fit_transform(X), y


def part_of(path: Path, n: int, seed: int, classes: tuple[int, ...] | None = None) -> Data:
    """Return some random rows of an archive, of some classes."""
    archive = np.load(path)
    X, y = archive["X"], np.unique(archive["y"], return_inverse=True)[1]
    rows = np.arange(len(y)) if classes is None else np.flatnonzero(np.isin(y, classes))
    rows = np.random.default_rng(seed).choice(rows, n, replace=False)
    return X[rows].astype(np.float64), np.unique(y[rows], return_inverse=True)[1]


def sets(data: Path | None) -> dict[str, Callable[[int], Data]]:
    """Return the data sets, each a function of the seed."""
    found: dict[str, Callable[[int], Data]] = {
        "digits": lambda seed: load_digits(return_X_y=True),
        "wine": lambda seed: standardized(*load_wine(return_X_y=True)),
        "breast cancer": lambda seed: standardized(*load_breast_cancer(return_X_y=True)),
        "moons": lambda seed: make_moons(1000, noise=0.2, random_state=seed),
        "Gaussians, 50-d": gaussians,
    }
    if data is not None:
        found |= {
            "letter, 4,000 rows": lambda seed: part_of(data / "letter.npz", 4000, seed),
            "MNIST, 4 and 9, 2,000 rows": lambda seed: part_of(data / "mnist.npz", 2000, seed, (4, 9)),
            "MNIST, 3,000 rows": lambda seed: part_of(data / "mnist.npz", 3000, seed),
        }
    return found


def flip(y: np.ndarray, rate: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of which a share is wrong, and which are."""
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.choice(len(y), max(1, round(rate * len(y))), replace=False)] = True
    n_classes = int(y.max()) + 1
    return np.where(wrong, (y + rng.integers(1, n_classes, size=len(y))) % n_classes, y), wrong


def found_by_cleanlab(X: np.ndarray, y: np.ndarray, wrong: np.ndarray, seed: int) -> dict[str, float]:
    """Return what cleanlab finds with every classifier, with and without scaling, by two of its scores."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    y = np.unique(y, return_inverse=True)[1]
    areas = {}
    for (name, peer), (scaling, scaler) in itertools.product(PEERS.items(), SCALINGS.items()):
        P = cross_val_predict(make_pipeline(scaler, peer()), X, y, cv=folds, method="predict_proba")
        P = np.clip(P, 1e-9, 1.0) / np.clip(P, 1e-9, 1.0).sum(axis=1, keepdims=True)
        for score in SCORES:
            quality = get_label_quality_scores(y, P, method=score)
            areas[f"cleanlab, {name}, {scaling}, {score}"] = average_precision_score(wrong, -quality)
    return areas


def found_by_halfmoon(model: object, wrong: np.ndarray) -> tuple[float, np.ndarray]:
    """Return what `label_issues` finds, and the score of every labelled row, 0 for repeated ones."""
    issues = model.label_issues()
    scores = np.zeros(len(wrong))
    scores[issues.rows] = issues.scores
    return average_precision_score(wrong, scores), scores


def trial(X: np.ndarray, y: np.ndarray, rate: float, seed: int) -> dict[str, float]:
    """Return the areas of one draw, and errors on the unlabelled rows in per cent."""
    rng = np.random.default_rng(1000 + seed)
    order = rng.permutation(len(X))
    X, y = X[order], y[order]
    n_labels = min(N_LABELS, 2 * len(X) // 3)
    labels, wrong = flip(y[:n_labels], rate, rng)
    few = np.full(len(X), -1)
    few[:n_labels] = labels
    row = {}
    for estimator in (LapSVC, LapRLSClassifier):
        name = estimator.__name__
        model = estimator(random_state=seed).fit(X, few)
        start = time.perf_counter()
        row[name], scores = found_by_halfmoon(model, wrong)
        row[f"{name}, seconds"] = time.perf_counter() - start
        row[f"{name}, error"] = np.mean(model.transduction_[n_labels:] != y[n_labels:])
        weights = np.ones(len(X))
        weights[:n_labels] = np.maximum(1.0 - scores, 0.01)
        row[f"{name}, error, doubted labels weigh less"] = np.mean(
            model.refit(few, weights).transduction_[n_labels:] != y[n_labels:]
        )
        few[:n_labels] = y[:n_labels]
        row[f"{name}, error, right labels"] = np.mean(model.refit(few).transduction_[n_labels:] != y[n_labels:])
        few[:n_labels] = labels
    return row | found_by_cleanlab(X[:n_labels], labels, wrong, seed)


def accusations(chosen: dict[str, Callable[[int], Data]], n_draws: int) -> Iterator[str]:
    """Yield a table of how many labels are called wrong, of right labels and of some wrong ones, over all sets."""
    clean = "draws, all right | draws with accused | labels accused"
    yield f"| labels | {clean} | draws, some wrong | labels accused | of these wrong | wrong in all |"
    yield "|---|---|---|---|---|---|---|---|"
    for n_labels in (15, 30, 60, N_LABELS):
        counts = np.zeros(7, dtype=int)
        for draw, seed in itertools.product(chosen.values(), range(n_draws)):
            rng = np.random.default_rng([n_labels, seed])
            X, y = draw(seed)
            order = rng.permutation(len(X))
            X, y = X[order], y[order]
            few = np.where(np.arange(len(X)) < min(n_labels, 2 * len(X) // 3), y, -1)
            labeled = np.flatnonzero(few >= 0)
            model = LapSVC(random_state=seed).fit(X, few)
            said = model.label_issues().n_suspicious
            counts[:3] += (1, said > 0, said)
            for rate in RATES:
                few[labeled], wrong = flip(y[labeled], rate, rng)
                issues = model.refit(few).label_issues()
                accused = issues.rows[: issues.n_suspicious]
                counts[3:] += (1, len(accused), wrong[accused].sum(), wrong.sum())
        yield f"| {n_labels} | {' | '.join(map(str, counts))} |"


def run(chosen: dict[str, Callable[[int], Data]], n_draws: int) -> Iterator[tuple[str, float, dict[str, np.ndarray]]]:
    """Yield the figures of all draws of each set and rate."""
    for name, draw in chosen.items():
        for rate in RATES:
            found = defaultdict(list)
            for seed in range(n_draws):
                for what, value in trial(*draw(seed), rate, seed).items():
                    found[what].append(value)
            yield name, rate, {what: np.array(values) for what, values in found.items()}


def tables(chosen: dict[str, Callable[[int], Data]], n_draws: int) -> Iterator[str]:
    """Yield the lines of both tables."""
    peers = [f"cleanlab, {peer}" for peer in PEERS]
    yield "| data | wrong | halfmoon | " + " | ".join(peers) + " | halfmoon - best peer |"
    yield "|---|---|" + "---|" * (len(peers) + 2)
    sums, errors, seconds = [], [], []
    for name, rate, found in run(chosen, n_draws):
        # A classifier is credited with the best of its variants on this set, in hindsight.
        best = [max((found[f"{peer}, {variant}"] for variant in VARIANTS), key=np.mean) for peer in peers]
        columns = [100 * values for values in (found["LapSVC"], *best)]  # that of LapRLSClassifier is the same
        sums.append([values.mean() for values in columns])
        top = columns[1 + int(np.argmax(sums[-1][1:]))]
        gap = columns[0] - top
        figures = " | ".join(f"{value:.1f}" for value in sums[-1])
        spread = gap.std(ddof=1) / np.sqrt(n_draws)
        yield f"| {name} | {100 * rate:.0f} % | {figures} | {gap.mean():+.1f} ± {spread:.1f} |"
        seconds.append(found["LapSVC, seconds"].mean())
        kinds = ("error", "error, doubted labels weigh less", "error, right labels")
        means = [100 * found[f"{e}, {kind}"].mean() for e in ("LapSVC", "LapRLSClassifier") for kind in kinds]
        errors.append((f"| {name} | {100 * rate:.0f} %", means))
    means = np.mean(sums, axis=0)
    yield f"| mean | | {' | '.join(f'{value:.1f}' for value in means)} | {means[0] - means[1:].max():+.1f} |"
    yield f"\nlabel_issues took {np.mean(seconds):.2f} s on average.\n"
    kinds = "as given | doubted labels weigh less | right labels"
    yield f"| data | wrong | LapSVC: {kinds} | LapRLSClassifier: {kinds} |"
    yield "|---|---|---|---|---|---|---|---|"
    for start, figures in [*errors, ("| mean | ", np.mean([means for _, means in errors], axis=0))]:
        yield f"{start} | {' | '.join(f'{value:.2f}' for value in figures)} |"


def main() -> None:
    """Run the benchmark and write label_noise.md, or label_accusations.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz and letter.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--accusations", action="store_true", help="count the labels that are called wrong, no peers")
    parser.add_argument("--sets", nargs="*", default=[""], help="beginnings of the names of sets; all by default")
    options = parser.parse_args()
    chosen = {name: draw for name, draw in sets(options.data).items() if name.startswith(tuple(options.sets))}
    warnings.simplefilter("ignore")  # components without labels; classes with fewer labels than folds
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [f"Machine: {machine('numpy', 'scikit-learn', 'cleanlab')}.", ""]
    name = "label_accusations.md" if options.accusations else "label_noise.md"
    for line in (accusations if options.accusations else tables)(chosen, options.draws):
        print(line, flush=True)
        lines.append(line)
        (options.out / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
