"""Help is there at once, every example of help texts and docs runs, and shells complete."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from halfmoon import labeller
from halfmoon.cli import check_labels, cluster, diagnose, evaluate, explain, fit, info, label, plan, predict, suggest
from halfmoon.cli import demo as demo_command
from halfmoon.cli import reproduce as reproduce_command
from halfmoon.experiments import demo
from halfmoon.experiments import reproduce as reproduction
from halfmoon.experiments._experiment import Claim

ROOT = Path(__file__).parents[2]


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    ).stdout


def test_help_does_not_wait_for_the_library():
    code = (
        "import sys; sys.argv = ['halfmoon', '--help']\n"
        "from halfmoon.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print({'numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'PIL'} & sys.modules.keys())"
    )
    out = run_python(code)
    assert "diagnose" in out
    assert out.endswith("set()\n")


def test_version_and_module():
    out = subprocess.run([sys.executable, "-m", "halfmoon", "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"halfmoon \d+\.\d+\.\d+\S*\n", out.stdout)


def test_completion():
    words = {"_HALFMOON_COMPLETE": "complete_bash", "COMP_WORDS": "halfmoon ev", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['halfmoon']; from halfmoon.cli import main; main()"
    assert run_python(code, **words).split() == ["evaluate"]


@pytest.fixture
def small_demo(monkeypatch):
    run = demo.run
    monkeypatch.setattr(demo, "run", lambda config: run(demo.Config(scale=0.2, etas=(1e4,), seed=config.seed)))


@pytest.fixture
def no_reproduction(monkeypatch):
    """Take a minute or an hour out of the experiments; tests/experiments runs them."""
    calls = []

    def reproduce(names, out, options, **rest):
        calls.append((names, out, options))
        return [Claim("a claim", "an aim", "a number", holds=True)]

    monkeypatch.setattr(reproduction, "reproduce", reproduce)
    return calls


@pytest.fixture
def no_server(monkeypatch):
    """Serve nobody: Ctrl-C comes at once. tests/labeller and tests_browser use the page."""
    calls = []

    def serve(session, *, announce, **options):
        announce("http://127.0.0.1:1/?token=t")
        calls.append((session, options))
        session.close()

    monkeypatch.setattr(labeller, "serve", serve)
    return calls


def test_label_passes_its_options_on(halfmoon, no_server, files):
    result = halfmoon("label photos/ --class cat --port 8123 --no-browser --journal mine.jsonl")
    assert result.stdout.splitlines()[:3] == [
        "Open http://127.0.0.1:1/?token=t",
        "Labels are kept in mine.jsonl as you go; Ctrl-C ends.",
        "16 of 80 rows labelled so far.",
    ]
    assert "16 of 80 rows labelled; run the same command to continue." in result.stdout
    ((session, options),) = no_server
    assert session.classes == ["0", "1", "cat"]
    assert options == {"port": 8123, "journal": Path("mine.jsonl"), "open_browser": False}
    assert (files / "mine.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("label moons.npz --images 3by3", "write width x height as in 28x28"),
        ("label moons.npz --images 3x3", "images of 3 x 3 pixels"),
        ("label nothing.csv", "no such file"),
        ("label moons.npz --journal flowers.csv", "no journal of labels|is no record"),
    ],
)
def test_label_says_what_is_wrong(halfmoon, no_server, files, line, message):
    result = halfmoon(line)
    assert result.exit_code == 2
    assert re.search(message, result.stderr)


def test_reproduce_passes_its_options_on(halfmoon, no_reproduction, tmp_path):
    result = halfmoon(f"reproduce figure3 --data {tmp_path} --trials 3 --seed 7 --quick --out there")
    assert "1 of 1 claims hold" in result.stdout
    ((names, out, options),) = no_reproduction
    assert names == ["figure3"]
    assert out == Path("there")
    assert (options.data, options.trials, options.seed, options.quick) == (tmp_path, 3, 7, True)
    halfmoon("reproduce all")
    assert no_reproduction[1][0] == list(reproduction.EXPERIMENTS)


def test_reproduce_without_data_says_what_to_do(halfmoon, tmp_path):
    result = halfmoon(f"reproduce figure2 --data {tmp_path} --out {tmp_path}")
    assert result.exit_code == 2
    assert "letter.npz does not exist" in result.stderr


def commands_of_docs():
    pages = ("docs/command-line.md", "docs/embeddings.md", "README.md")
    text = "\n".join((ROOT / page).read_text() for page in pages)
    return re.findall(r"^\$ halfmoon (.*)$", text, flags=re.M)


def commands_of_help():
    modules = (
        fit, label, predict, explain, evaluate, check_labels, suggest, diagnose, cluster, info, plan, demo_command,
        reproduce_command,
    )  # fmt: skip
    return [line for module in modules for line in re.findall(r"^halfmoon (.*)$", module.EXAMPLES, flags=re.M)]


@pytest.mark.parametrize("commands", [commands_of_docs, commands_of_help])
def test_examples_run(commands, files, halfmoon, small_demo, no_reproduction, no_server):
    lines = commands()
    assert {line.split()[0] for line in lines} == {
        "fit", "label", "predict", "explain", "evaluate", "check-labels", "suggest", "diagnose", "cluster", "info",
        "plan", "demo", "reproduce",
    }  # fmt: skip
    before = set(files.iterdir())
    for line in lines:
        result = halfmoon(line)
        assert result.exit_code == 0, (line, result.output)
        for made in set(files.iterdir()) - before:  # a later line may write a file of the same name
            if made.suffix in (".csv", ".parquet"):
                made.unlink()
        assert (files / "demo.png").exists() or not line.startswith("demo")


def test_every_command_has_help(halfmoon):
    names = (
        "fit",
        "label",
        "predict",
        "explain",
        "evaluate",
        "check-labels",
        "suggest",
        "diagnose",
        "cluster",
        "info",
        "plan",
        "demo",
        "reproduce",
    )
    for name in names:
        text = halfmoon(f"{name} --help").stdout
        assert "Examples" in text
        assert "--json" in text
        assert "--quiet" in text
