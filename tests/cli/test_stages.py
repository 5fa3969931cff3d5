"""Progress of commands: bars that move on a terminal, a line per stage elsewhere, nothing where it is not wanted."""

import io
import re

from rich.console import Console

from halfmoon.cli._stages import StageLines, show_bars
from halfmoon.runtime.progress import report


def test_a_line_per_stage_without_a_terminal(files, halfmoon):
    result = halfmoon("fit flowers.csv --target species --tune --neighbors 8 --out staged.hm")
    lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    stages = [line.split(":")[0] for line in lines]
    assert len(stages) == len(set(stages))
    assert {"neighbours", "tuning"} <= set(stages)
    assert any(re.fullmatch(r"tuning: 18 of 18 in \d+\.\d s", line) for line in lines)
    plain = halfmoon("fit flowers.csv --target species --out staged.hm").stderr
    assert re.search(r"^selection: 6 of 6 in", plain, flags=re.M)


def test_json_and_quiet_say_nothing_of_progress(files, halfmoon):
    for flag in ("--json", "--quiet"):
        assert halfmoon(f"fit flowers.csv --target species --out staged.hm {flag}").stderr == ""


def test_a_stage_has_its_line_when_the_next_begins_and_only_once():
    out = io.StringIO()
    lines = StageLines(Console(file=out))
    with lines.showing():
        report("graph", 5, 10)
        report("graph", 10, 10)
        assert out.getvalue() == ""
        report("solves", 3, 4)
        assert out.getvalue().startswith("neighbours: 10 of 10 in ")
        report("graph", 10, 10)
    assert [line.split(" in ")[0] for line in out.getvalue().splitlines()] == ["neighbours: 10 of 10", "solves: 3 of 4"]


def test_bars_move_up_to_their_totals():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    with show_bars(console, "fitting"):
        for done in (1, 2, 3, 1, 4):  # a stage may begin anew
            report("graph", done, 4)
    assert "fitting" in out.getvalue()
    assert "neighbours" in out.getvalue()
    assert "4/4" in out.getvalue()
