# `make demo` and `make test` do everything on a fresh machine with Python, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

DATA ?=
BENCH_DATA := $(if $(DATA),--data $(DATA))

.PHONY: demo test test-browser lint types suite bench bench-accuracy reliability mutants docs package clean

demo: $(VENV)/.demo-installed
	$(BIN)/python -m halfmoon.experiments.demo --out demo.png

test: lint types suite

# In a real browser: Debian's chromium, or the one that HALFMOON_CHROMIUM names.
test-browser: $(VENV)/.test-installed
	$(BIN)/pytest tests_browser -p no:cacheprovider

lint: $(VENV)/.test-installed
	$(BIN)/ruff check src tests tests_browser benchmarks reliability examples
	$(BIN)/ruff format --check src tests tests_browser benchmarks reliability examples
	$(BIN)/codespell *.md docs examples src tests tests_browser benchmarks reliability conda
	$(BIN)/lint-imports

types: $(VENV)/.test-installed
	$(BIN)/mypy

suite: $(VENV)/.test-installed
	$(BIN)/pytest -n auto --cov --cov-report=term

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	touch $@

$(VENV)/.test-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

BENCHMARKS := solvers graphs predictions estimators first_use $(if $(DATA),tuning refits stream labelling)

# All of them, also after one whose claims do not hold; then it fails and names these.
bench: $(VENV)/.bench-installed
	@failed=; for name in $(BENCHMARKS); do \
		$(BIN)/python -m benchmarks.$$name $(BENCH_DATA) || failed="$$failed $$name"; \
	done; \
	test -z "$$failed" || { echo "Claims that do not hold, see above:$$failed" >&2; exit 1; }

$(VENV)/.bench-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[bench,plot]"
	touch $@

# Errors beside those of GraphLearning and LAMDA-SSL, which need old versions (see benchmarks/peers.txt).
PEERS_PYTHON ?= python3.11

bench-accuracy: $(VENV)/.bench-installed $(VENV)-peers/.installed
	$(BIN)/python -m benchmarks.accuracy --peers $(VENV)-peers/bin/python $(BENCH_DATA)

$(VENV)-peers/.installed: benchmarks/peers.txt
	$(PEERS_PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --requirement benchmarks/peers.txt
	$(VENV)-peers/bin/python -m pip install --quiet --no-deps LAMDA-SSL==1.0.2
	touch $@

# Try to break it: at most an hour on 2 cores; PROFILE=nightly for a night, SEED=7 to repeat a run, PARTS="load security"
# to run these alone. The page is written while it runs.
PROFILE ?= long
SEED ?=
PARTS ?=

reliability: $(VENV)/.test-installed
	$(BIN)/python -m reliability --profile $(PROFILE) $(if $(SEED),--seed $(SEED)) $(if $(PARTS),--parts $(PARTS)) --docs docs/reliability.md

# Do the tests notice small changes of the code? SAMPLE= tries all mutants; a run that was cut short goes on.
SAMPLE ?= 300

mutants: $(VENV)/.test-installed
	$(BIN)/python -m reliability.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) --docs docs/mutants.md

docs: $(VENV)/.docs-installed
	$(BIN)/sphinx-build --fail-on-warning --keep-going -n docs docs/_build/html

$(VENV)/.docs-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

# Build wheel and sdist, and try the wheel in an environment that holds nothing else.
package:
	rm -rf dist $(VENV)-build $(VENV)-package
	$(PYTHON) -m venv $(VENV)-build
	$(VENV)-build/bin/python -m pip install --quiet build
	$(VENV)-build/bin/python -m build --outdir dist .
	$(PYTHON) -m venv $(VENV)-package
	$(VENV)-package/bin/python -m pip install --quiet dist/*.whl
	cd dist && ../$(VENV)-package/bin/python ../tests/smoke.py

clean:
	rm -rf dist $(VENV)-build $(VENV)-package docs/_build docs/auto_examples docs/generated docs/sg_execution_times.rst
	rm -rf $(VENV) $(VENV)-peers .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache demo.png reliability.json mutants.json .mutants
