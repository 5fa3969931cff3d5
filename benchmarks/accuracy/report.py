"""Tables of what was measured, in markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.ranks import Curve, best_method, critical_difference, mean_ranks, near_best, standard_error
from benchmarks.accuracy.store import Result

VIEWS = {"train": "unlabelled rows of the graph", "new": "new points"}
PRIORS = ", priors"
NOTHING = "n/a"
MANY = 60  # labels in all, from which on a plain SVC is hard to beat
Row = tuple[str, int]


@dataclass(frozen=True)
class Errors:
    """Errors in per cent by row (data set and labels per class), method and draw, on one kind of points.

    Attributes
    ----------
    methods, rows : list
        In the order of the tables.
    curves : dict
        Errors by row and method.
    seconds : dict
        Seconds of the fits by set and method.
    reasons : dict
        Why there is no error, by row and method.
    """

    methods: list[str]
    rows: list[Row]
    curves: dict[Row, dict[str, Curve]]
    seconds: dict[tuple[str, str], list[float]]
    reasons: dict[tuple[Row, str], str]

    @classmethod
    def of(cls, results: Iterable[Result], view: str, sets: Sequence[str], methods: Sequence[str]) -> Errors:
        """Gather the errors of the named sets and methods."""
        curves: dict[Row, dict[str, Curve]] = defaultdict(dict)
        seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        reasons: dict[tuple[Row, str], str] = {}
        for r in results:
            row, error = (r.set, r.labels), getattr(r, view)
            if r.method not in methods or r.set not in sets:
                continue
            if error is None:
                reasons[row, r.method] = r.reason or NOTHING
                continue
            curves[row].setdefault(r.method, {})[r.draw] = error  # type: ignore[index]
            seconds[r.set, r.method].append(r.fit or 0.0)
        rows = sorted(curves, key=lambda row: (list(sets).index(row[0]), row[1]))
        present = {method for found in curves.values() for method in found}
        return cls([m for m in methods if m in present], rows, dict(curves), dict(seconds), reasons)

    def means(self, row: Row, methods: Sequence[str]) -> list[float]:
        """Return mean errors over the draws that all the methods have on a row: other draws may be easier."""
        curves = [self.curves[row][method] for method in methods]
        draws = self.shared_draws([row], methods)
        return [float(np.mean([curve[number] for number in draws])) if draws else float("nan") for curve in curves]

    def shared_draws(self, rows: Sequence[Row], methods: Sequence[str]) -> list[int]:
        """Return the draws that all the methods have on all the rows."""
        return sorted(set.intersection(*(set(self.curves[row][method]) for row in rows for method in methods)))

    def complete(self) -> list[str]:
        """Return the methods that have an error on every row."""
        return [m for m in self.methods if all(m in self.curves[row] for row in self.rows)]

    def ranks(self) -> tuple[dict[str, float], float]:
        """Return the mean ranks of the complete methods, and the critical difference; none if there are not two."""
        methods = self.complete()
        if not self.rows or len(methods) < 2:
            return {}, float("nan")
        table = np.array([self.means(row, methods) for row in self.rows])
        means, n_blocks = mean_ranks(table, [name for name, _ in self.rows])
        return dict(zip(methods, means.tolist(), strict=True)), critical_difference(len(methods), n_blocks)


def set_tables(errors: Errors) -> Iterator[str]:
    """Yield a table per data set: methods by labels per class."""
    for name in dict.fromkeys(name for name, _ in errors.rows):
        rows = [row for row in errors.rows if row[0] == name]
        draws = max(len(curve) for row in rows for curve in errors.curves[row].values())
        near = {row: near_best(errors.curves[row]) for row in rows}
        yield f"**{name}**, {draws} draws"
        yield ""
        yield "| method | " + " | ".join(str(labels) for _, labels in rows) + " | fit s |"
        yield "|---|" + "---|" * (len(rows) + 1)
        for method in errors.methods:
            cells = [_cell(errors, row, method, near[row].get(method, False), draws) for row in rows]
            times = errors.seconds.get((name, method))
            yield f"| {method} | {' | '.join(cells)} | {NOTHING if times is None else f'{np.mean(times):.2f}'} |"
        yield ""


def _cell(errors: Errors, row: Row, method: str, is_near: bool, draws: int) -> str:
    curve = errors.curves[row].get(method)
    if not curve:
        return errors.reasons.get((row, method), NOTHING).split(":")[0]
    values = list(curve.values())
    text = f"{np.mean(values):.1f} ± {standard_error(values):.1f}"
    text = f"**{text}**" if is_near else text
    return text if len(values) == draws else f"{text} ({len(values)})"


def summary(errors: Errors) -> Iterator[str]:
    """Yield how often each method is best or near, its mean rank, mean error and time."""
    ranks, difference = errors.ranks()
    near = {row: near_best(errors.curves[row]) for row in errors.rows}
    found = [(method, [row for row in errors.rows if method in errors.curves[row]]) for method in errors.methods]
    share = {method: sum(near[row][method] for row in rows) / len(rows) for method, rows in found}
    yield "| method | rows | draws | best | best or within one standard error | mean rank | mean error % | fit s |"
    yield "|---|---|---|---|---|---|---|---|"
    overall_means = np.mean([errors.means(row, list(ranks)) for row in errors.rows], axis=0) if ranks else []
    mean_errors = dict(zip(ranks, overall_means, strict=True))
    for method, rows in sorted(found, key=lambda pair: -share[pair[0]]):
        draws = sorted({len(errors.curves[row][method]) for row in rows})
        span = str(draws[0]) if len(draws) == 1 else f"{draws[0]} to {draws[-1]}"
        best = sum(best_method(errors.curves[row]) == method for row in rows)
        within = f"{share[method] * len(rows):.0f} ({100 * share[method]:.0f} %)"
        overall = f"{ranks[method]:.2f} | {mean_errors[method]:.1f}" if method in ranks else f"{NOTHING} | {NOTHING}"
        times = [t for (_, m), values in errors.seconds.items() if m == method for t in values]
        yield f"| {method} | {len(rows)} | {span} | {best} | {within} | {overall} | {np.mean(times):.2f} |"
    yield ""
    yield (
        f"{len(errors.rows)} rows (data sets by labels per class). Fewer draws make a standard error larger, and being "
        "within it easier. Mean ranks and mean errors are of the methods that ran on all rows, over the draws that all "
        f"of these have; critical difference of mean ranks {difference:.2f} (Nemenyi, 5 %)."
    )


def _mean(errors: Errors, row: Row, method: str) -> float:
    return float(np.mean(list(errors.curves[row][method].values())))


def mean_over(errors: Errors, name: str, labels: Sequence[int]) -> Iterator[str]:
    """Yield the mean errors over some numbers of labels on one set, on shared draws: who is best with very few."""
    rows = [row for row in errors.rows if row[0] == name and row[1] in labels]
    methods = [m for m in errors.methods if rows and all(m in errors.curves[row] for row in rows)]
    draws = errors.shared_draws(rows, methods) if methods else []
    if not draws:
        return
    yield f"| {name}, mean over {', '.join(map(str, labels))} labels per class, {len(draws)} shared draws | error % |"
    yield "|---|---|"
    means = {m: np.mean([errors.curves[row][m][number] for row in rows for number in draws]) for m in methods}
    yield from (f"| {method} | {mean:.1f} |" for method, mean in sorted(means.items(), key=lambda pair: pair[1]))
    yield ""


def behind(errors: Errors, method: str, other: str, n_classes: dict[str, int]) -> tuple[float, Row] | None:
    """Return by how many points a method is behind another where labels are many, at worst, and where."""
    rows = [row for row in errors.rows if row[1] * n_classes[row[0]] >= MANY]
    both = [row for row in rows if {method, other} <= errors.curves[row].keys()]
    lags = [(_mean(errors, row, method) - _mean(errors, row, other), row) for row in both]
    return max(lags) if lags else None


def lost_rows(errors: Errors, ours: Sequence[str]) -> Iterator[str]:
    """Yield the rows on which none of some methods is best or within one standard error of the best."""
    yield f"| data | labels per class | best | its error % | {' | '.join(ours)} |"
    yield "|---|" + "---|" * (len(ours) + 3)
    for row in errors.rows:
        curves = errors.curves[row]
        near = near_best(curves)
        if not any(near.get(method, False) for method in ours):
            best = best_method(curves)
            cells = [f"{_mean(errors, row, m):.1f}" if m in curves else NOTHING for m in ours]
            yield f"| {row[0]} | {row[1]} | {best} | {_mean(errors, row, best):.1f} | {' | '.join(cells)} |"
    yield ""
