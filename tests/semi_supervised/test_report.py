"""Reports: what is held out really is, and verdicts say what the labels can show."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from halfmoon import DataDependentKernel, LapRLSClassifier, LapRLSRegressor, LapSVC
from halfmoon.semi_supervised import choose
from halfmoon.semi_supervised._assessment import compare_classes, compare_targets
from halfmoon.semi_supervised._intervals import of_difference, of_share
from halfmoon.semi_supervised._report import Score

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


def labelled(rng, y, per_class):
    few = np.full(len(y), -1)
    for c in np.unique(y):
        rows = rng.choice(np.flatnonzero(y == c), per_class, replace=False)
        few[rows] = c
    return few


def fitted(rng, estimator, classes=2, per_class=5, **parameters):
    n = 240
    X = rng.normal(size=(n, 3))
    y = np.arange(n) % classes
    X[:, 0] += 2.0 * y
    if estimator is LapRLSRegressor:
        target = np.where(rng.permutation(n) < 14, X[:, 0] + 0.1 * rng.normal(size=n), np.nan)
    else:
        target = labelled(rng, y, per_class)
    kernel = DataDependentKernel(n_neighbors=8, landmarks=rng.choice(n, 50, replace=False))
    return estimator(kernel=kernel, **parameters).fit(X, target), X, y


@pytest.mark.parametrize("extension", [None, "base"])
@pytest.mark.parametrize(("estimator", "classes"), [(LapSVC, 2), (LapRLSClassifier, 3), (LapRLSRegressor, 2)])
def test_held_out_values_are_those_of_models_chosen_and_fitted_without_each(rng, estimator, classes, extension):
    model, _, _ = fitted(rng, estimator, classes)
    learned = model.learned_
    problem, mixture = learned.problem, learned.mixture
    found = model.held_out_values(extension)
    for i in range(problem.training.n_examples):
        rest = np.delete(np.arange(problem.training.n_examples), i)
        others = problem.subset(rest)
        T = None if mixture.T is None else mixture.T[rest]
        part = replace(mixture, X_L=mixture.X_L[rest], T=T, known_base=None)
        kernel = learned.kernel
        if extension == "base":  # a kernel that is named "base" uses the base kernel alone
            kernel = replace_extension(kernel, "base")
        choice = choose(others, kernel, part, None)
        K = mixture.mixed(choice.weights)
        solution = model.loss(choice.alpha).fit(K[np.ix_(rest, rest)], others.Y, others.weights)
        assert_allclose(found[i], K[i, rest] @ solution.dual + solution.intercept, atol=2e-4)


def replace_extension(kernel, extension):
    class Named:
        def __getattr__(self, name):
            return getattr(kernel, name)

    named = Named()
    named.extension = extension
    return named


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_smooth_kernel_on_a_graph_of_several_components(rng, estimator, classes):
    """On labelled rows the decision function is the Gram matrix times the dual, whatever the components are."""
    X = np.concatenate([rng.normal(size=(60, 2)) + 40.0 * c for c in range(4)])
    y = np.repeat(np.arange(4), 60) % classes
    few = np.where(labelled(rng, np.repeat(np.arange(4), 60), 5) >= 0, y, -1)  # five labels in each
    kernel = DataDependentKernel(n_neighbors=8, n_landmarks=80, random_state=int(rng.integers(1 << 31)))
    model = estimator(kernel=kernel).fit(X, few)
    learned = model.learned_
    assert learned.mixture.component is not None
    K = learned.mixture.mixed(learned.choice.weights)
    rows = learned.problem.training.rows
    # Off the landmarks the size of a row is interpolated, so that only landmarks are exact.
    on = np.isin(rows, model.kernel_.landmark_indices_)
    expected = K @ model.dual_coef_ + model.intercept_
    assert_allclose(model.decision_(X[rows])[on], expected[on], atol=1e-6)
    assert_array_equal(np.diagonal(learned.mixture.gram("smooth")).round(9), 1.0)
    assert model.score(X, y) > 0.9  # the components are the classes: all modes are needed


def test_the_constant_is_left_to_the_intercept(rng):
    model, _, _ = fitted(rng, LapRLSClassifier)
    extension = model.kernel_.warped_.smooth_extension
    restriction = model.kernel_.restriction_
    K_hat, eta = model.kernel_.K_hat_, extension.eta
    parallel = K_hat - eta * K_hat @ np.linalg.solve(restriction.smooth + eta * K_hat, K_hat)  # eq. 6 without modes
    assert_allclose(extension.K_SS, parallel, atol=1e-9)


def test_verdicts_on_classes(rng):
    """Ten labels that only the model gets right, and none the other way, are no luck; nine may be."""
    model, _, _ = fitted(rng, LapRLSClassifier, per_class=20)
    problem = model.learned_.problem
    truth = np.where(problem.training.targets[:, None] == 1, 1.0, -1.0)
    names, n = ("model", "base"), 200

    def verdict(wins, losses=0, differ=100):
        right, plain = truth.copy(), truth.copy()
        plain[:wins] *= -1.0
        right[wins : wins + losses] *= -1.0
        sample = np.arange(2000) < differ
        return compare_classes(problem, right, plain, names, sample, n)

    assert [verdict(wins).verdict for wins in (10, 9)] == ["help", "cannot be told"]
    assert verdict(9, 3).verdict == "cannot be told"
    for wins in (0, 20):  # whatever the labels, the two hardly differ
        assert verdict(wins, differ=3).verdict == "do not help"
    assert verdict(4, differ=200).labels_to_tell == 160  # 15.5 of them decide, one in ten rows does
    assert verdict(4, 1, differ=400).labels_to_tell is None  # of 5, with 3 net: 345, more than there are rows
    for wins, losses in ((0, 0), (2, 0), (3, 2), (2, 3), (0, 9)):  # luck, or the base kernel is ahead
        assert verdict(wins, losses, differ=400).labels_to_tell is None
    assert verdict(6).wins == 6
    assert verdict(6).gain == 6 / 40
    few = np.zeros(50, dtype=bool)  # agreement on all rows is no estimate, agreement on a sample is
    assert compare_classes(problem, truth, truth, names, few, 50).verdict == "do not help"
    assert compare_classes(problem, truth, truth, names, few, 200).verdict == "cannot be told"
    nothing = compare_classes(problem, truth, truth, names, np.zeros(0, dtype=bool), 0)
    assert nothing.verdict == "no unlabelled rows"


def test_one_label_per_class_gives_no_score_and_says_so(rng):
    model, _, _ = fitted(rng, LapSVC, classes=3, per_class=1)
    report = model.report_
    assert re.search(r"held-out score: +none: every label is alone in its class", str(report))
    assert re.search("inf|nan", str(report)) is None
    assert " 0 labels" not in str(report)
    assert report.to_dict()["model"]["value"] is None


def test_the_most_frequent_class_of_balanced_labels_has_its_share(rng):
    model, _, _ = fitted(rng, LapSVC, classes=3, per_class=4)
    assert model.report_.trivial.right == 4


def in_words(report, right, plain, wins, losses, labels_to_tell=None, **others):
    """Return the verdict of twenty labels that cannot tell, one in five of 1,000 unlabelled rows being disputed."""
    model, base = (replace(score, right=count) for score, count in ((report.model, right), (report.base, plain)))
    told = {"n_counted": 20, "n_unlabeled": 1000, "n_compared": 1000, "disagreement": 0.2, "verdict": "cannot be told"}
    told |= {"wins": wins, "losses": losses, "gain": (wins - losses) / 20, "labels_to_tell": labels_to_tell}
    return replace(report, model=model, base=base, **(told | others)).verdict_in_words


def test_equal_scores_are_no_evidence_that_the_models_are_equal(rng):
    """Nothing is extrapolated from a difference of 0: the rows on which the two differ are the next step."""
    report = fitted(rng, LapSVC)[0].report_
    said = in_words(report, 20, 20, 0, 0)
    assert "cannot be told from 20 labels: both get 20 of 20 right. Label some of the 200 unlabelled rows" in said
    assert "some of the about 10,000 unlabelled rows" in in_words(report, 20, 20, 0, 0, n_unlabeled=50_000)
    assert "agree on all unlabelled rows" in in_words(report, 20, 20, 0, 0, disagreement=0.0)


def test_the_next_step_depends_on_who_is_ahead(rng):
    report = fitted(rng, LapSVC)[0].report_
    assert "about 120 labels of random rows would tell" in in_words(report, 15, 10, 6, 1, labels_to_tell=120)
    behind = in_words(report, 10, 12, 1, 3)
    assert "the plain kernel is ahead, 12 right against 10. Use a plain SVC, unless" in behind
    assert "may be luck" not in behind
    assert in_words(report, 10, 12, 1, 3, verdict="do not help").endswith("a plain SVC does as well.")


def test_intervals_of_few_labels_are_wide():
    """Three of three right is no certainty, and neither are three labels on which two models do the same."""
    assert_allclose(of_share(3, 3), (0.4385, 1.0), atol=1e-4)  # 3 / (3 + 1.96^2)
    assert_allclose(of_share(0, 3), (0.0, 0.5615), atol=1e-4)
    low, high = of_difference(0, 0, 3)
    assert low == -high < -0.4
    assert Score("", 1.0, *of_share(3, 3), 3).in_words(3) == "3 of 3 right (100%, 95% interval 44 to 100%)"


@pytest.mark.parametrize(("wins", "losses", "n"), [(0.1, 0.05, 30), (0.03, 0.03, 60), (0.3, 0.02, 12)])
def test_intervals_of_differences_cover_them(wins, losses, n, rng):
    draws = rng.multinomial(n, (wins, losses, 1.0 - wins - losses), size=2000)
    intervals = np.array([of_difference(won, lost, n) for won, lost, _ in draws])
    assert np.mean((intervals[:, 0] <= wins - losses) & (wins - losses <= intervals[:, 1])) > 0.93


def test_labels_that_are_not_scored_are_counted(rng):
    _, X, y = fitted(rng, LapSVC)
    few = labelled(rng, y, 5)
    few[np.flatnonzero(few < 0)[:2]] = 7, 8
    report = LapSVC(n_neighbors=8).fit(X, few).report_
    assert "12 labelled (2 alone in their class and not scored); " in str(report)


def test_one_point_is_no_points(rng):
    report = replace(fitted(rng, LapSVC)[0].report_, gain=0.01)
    assert "(+1 point, 95% interval" in str(report)


def test_a_diagnosis_counts_components_in_words(rng):
    found = fitted(rng, LapSVC)[0].diagnose()

    def graph(sizes, labels):
        return replace(found, component_sizes=np.array(sizes), component_labels=np.array(labels)).details[0]

    assert graph([9], [3]) == "graph: 1 component of 9 points; all points are connected"
    assert graph([7, 2], [3, 1]).endswith("2 components, the largest with 7 points; every component has a label")
    assert graph([7, 2], [3, 0]).endswith("1 component with 2 points holds no label")


def test_verdicts_on_targets(rng):
    model, _, _ = fitted(rng, LapRLSRegressor)
    problem = model.learned_.problem
    y = problem.training.targets
    noise = rng.normal(size=len(y))
    names = ("model", "base")
    better = compare_targets(problem, y + 0.01 * noise, y + np.sign(noise), names, np.ones(50), 100)
    same = compare_targets(problem, y + noise, y + noise, names, np.zeros(50), 100)
    assert (better.verdict, same.verdict) == ("help", "do not help")
    assert better.model.value > 0.99
    assert better.model.low <= better.model.value <= better.model.high
    assert same.gain == 0.0


def test_a_few_large_errors_of_the_base_kernel_are_no_help(rng):
    """The mean gain is large and beyond doubt for a t-test, but the base kernel is closer to most targets."""
    model, _, _ = fitted(rng, LapRLSRegressor)
    problem = model.learned_.problem
    y = problem.training.targets
    large = np.arange(len(y)) < 0.45 * len(y)
    found = compare_targets(problem, y + 0.1, y + np.where(large, 3.0, 0.09), ("model", "base"), np.ones(50), 100)
    assert found.gain_low > 0.25 * found.gain
    assert found.verdict == "cannot be told"


@pytest.mark.parametrize("estimator", [LapSVC, LapRLSClassifier, LapRLSRegressor])
def test_a_report_can_be_read_in_three_ways(rng, estimator):
    model, _, _ = fitted(rng, estimator)
    report = model.report_
    assert report is model.report_
    assert json.loads(report.to_json())["verdict"] == report.verdict
    for text in (str(report), report._repr_html_()):
        assert report.verdict_in_words in text
        assert report.base.in_words(report.n_counted) in text
    n = report.n_counted
    counted = "R^2" if estimator is LapRLSRegressor else f"{report.model.right} of {n} right"
    assert counted in str(report)
    assert str(report) in str(model.diagnose())


def test_a_refit_has_a_report_of_its_own(rng):
    model, _, y = fitted(rng, LapRLSClassifier)
    before = model.report_
    assert model.refit(labelled(rng, y, 9)).report_.n_labeled == 18
    assert before.n_labeled == 10


def test_a_model_of_the_base_kernel_alone_says_that_unlabelled_rows_do_not_help(rng):
    """Two classes drawn at random: the graph knows nothing, and the two models are one wherever it has no share."""
    X = rng.normal(size=(300, 2))
    labels = np.where(np.arange(300) < 60, (X[:, 0] > 0).astype(int), -1)
    model = LapRLSClassifier().fit(X, labels)
    alone = model.learned_.choice.weights == {"base": 1.0}
    assert (model.report_.disagreement == 0.0) == alone or not alone
    everything = LapRLSClassifier().fit(X, (X[:, 0] > 0).astype(int)).report_
    assert everything.verdict == "no unlabelled rows"
    assert "% of the unlabelled rows" not in str(everything)


def test_plot_of_a_diagnosis(rng):
    diagnosis = fitted(rng, LapRLSClassifier)[0].diagnose()
    ax = diagnosis.plot()
    assert [bar.get_width() for bar in ax.patches] == list(diagnosis.scores.values())


def test_verdicts_are_right_on_moons(rng):
    """ "Help" means a true gain, "do not help" one below a point."""
    for _ in range(5):
        X, y = make_moons(400, noise=0.08, random_state=int(rng.integers(1 << 31)))
        few = labelled(rng, y, 15)
        model = LapRLSClassifier(n_neighbors=10, random_state=0).fit(X, few)
        plain = model.base_decision()(X)[:, 0] > 0.0
        gain = np.mean(model.predict(X) == y) - np.mean(plain == y)
        verdict = model.report_.verdict
        assert verdict != "help" or gain > 0.0
        assert verdict != "do not help" or gain < 0.01
