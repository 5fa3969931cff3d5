"""The page on mutants: how many were noticed, and why the others need not be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from reliability.mutants.changes import Mutant

__all__ = ["page"]

EXPLAINED = Path(__file__).with_name("explained.json")
HEAD = """# Mutants

A mutant is the library with one small change: another operator, another number, a condition turned round, a call left
out. Tests that do not notice it would not notice such a mistake either. `make mutants` draws mutants of the Python
modules that hold the mathematics (geometry with restriction and interpolation, kernels, losses; compiled functions are
compared with slow oracles instead) and runs the tests that pass through the changed line, with one seed, for up to a
minute. Annotations, decorators, texts of errors and warnings are left alone. `make mutants SAMPLE=` tries all of them;
it goes on where it has ended.
"""


def page(command: str, found: Mapping[str, str], mutants: Mapping[str, Mutant]) -> str:
    """Return the page."""
    explained = json.loads(EXPLAINED.read_text())
    survived = [key for key, verdict in found.items() if verdict == "survived"]
    text = [HEAD, f"`{command}`: {len(found):,} of {len(mutants):,} mutants were tried, {len(survived):,} survived "]
    text[-1] += f"({100.0 * len(survived) / max(len(found), 1):.1f} %)."
    text += ["", "| module | mutants | tried | survived |", "|---|---|---|---|"]
    counts = {
        "mutants": Counter(mutant.module for mutant in mutants.values()),
        "tried": Counter(key.partition(";")[0] for key in found),
        "survived": Counter(key.partition(";")[0] for key in survived),
    }
    text += [
        f"| `{module}` | {count:,} | {counts['tried'][module]:,} | {counts['survived'][module]:,} |"
        for module, count in sorted(counts["mutants"].items())
    ]
    if survived:
        text += ["", "## Survivors", "", "| line | change | why no test notices it |", "|---|---|---|"]
    for key in sorted(survived):
        module, line, _ = key.split("; ", 2)
        mutant = mutants[key]
        change = f"`{mutant.before}` -> `{mutant.after}`".replace("|", "\\|").replace("\n", " ")
        text += [f"| `{module.rpartition('/')[2]}`: `{line}` | {change} | {explained.get(key, 'not explained yet')} |"]
    return "\n".join(text) + "\n"
