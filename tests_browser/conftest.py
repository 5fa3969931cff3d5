"""A real browser, and servers to look at with it."""

import os

import numpy as np
import pytest
from sklearn.datasets import load_digits

from benchmarks._browser import chromium, ready, serving

CLASSES = [word for number in range(10) for word in ("--class", str(number))]
# Servers run with the library that these tests run with, also from a folder of their own.
SOURCE = os.path.abspath("src")


@pytest.fixture(scope="session", autouse=True)
def same_library():
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = SOURCE if not before else f"{SOURCE}{os.pathsep}{before}"
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="session")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture
def server(tmp_path, digits):
    """A server of the digits."""
    np.savez(tmp_path / "digits.npz", X=digits[0])
    with serving(tmp_path, "digits.npz", "--neighbors", "8", "--landmarks", "200", *CLASSES) as running:
        yield running


@pytest.fixture
def tabs(browser):
    """Open pages; what they complain about fails the test."""
    contexts, complaints = [], []

    def open_page(address, context=None, wait=True, **options):
        if context is None:
            context = browser.new_context(viewport={"width": 1360, "height": 820}, **options)
            contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if is_foreign(request.url) else None)
        page.goto(address)
        if wait:
            ready(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def is_foreign(url):
    return not url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:"))
