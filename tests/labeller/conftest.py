"""Small sessions: three blobs that a few labels tell apart."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from halfmoon.labeller import session_of_arrays


@pytest.fixture(scope="session")
def blobs():
    X, y = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], random_state=3)
    return X, y


@pytest.fixture
def sessions(blobs):
    """Make sessions, ready to label; they are closed at the end."""
    opened = []

    def make(X=blobs[0], classes=("a", "b", "c"), **options):
        session = session_of_arrays(X, classes=classes, n_neighbors=6, n_landmarks=30, **options).start().wait(120)
        opened.append(session)
        return session

    yield make
    for session in opened:
        session.close()


@pytest.fixture
def label(blobs):
    """Label the next items of a session by the truth."""

    def answer(session, count, y=blobs[1]):
        rows = []
        for _ in range(count):
            row = session.state()["queue"][0]["row"]
            session.act({"kind": "label", "rows": [row], "class": int(y[row]), "how": "queue"})
            session.wait(60)
            rows.append(row)
        return np.array(rows)

    return answer
