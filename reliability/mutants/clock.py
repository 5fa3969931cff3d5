"""A plugin of pytest that writes down how long each test takes: ``-p reliability.mutants.clock``."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

SECONDS: Counter[str] = Counter()


def pytest_runtest_logreport(report: Any) -> None:
    """Add up set-up, call and tear-down."""
    SECONDS[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    """Write."""
    Path(os.environ["HALFMOON_MUTANTS_CLOCK"]).write_text(json.dumps(SECONDS))
