"""Graph, solves and tuning report to whoever listens, and only while someone does."""

import numpy as np

from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.model_selection import KernelSearchCV
from halfmoon.runtime.progress import listening, report


def test_stages_report_up_to_the_end(rng):
    X = rng.normal(size=(300, 40))
    y = np.where(np.arange(300) < 20, np.arange(300) % 2, -1)
    kernel = DataDependentKernel(
        n_neighbors=8, n_landmarks=40, solver="cg", random_state=0, graph_params={"connect": True}
    )
    heard = {}
    with listening(lambda stage, done, total: heard.setdefault(stage, []).append((done, total))):
        KernelSearchCV(LapRLSClassifier(kernel=kernel), {"kernel__eta": [0.1, 1.0]}).fit(X, y)
    report("graph", 1, 1)
    assert heard["tuning"] == [(1, 2), (2, 2)]
    assert heard["graph"][-1] == (300, 300)
    assert heard["solves"][-1] == (40, 40)
