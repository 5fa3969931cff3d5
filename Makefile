# `make demo` and `make test` do everything on a fresh machine with Python, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types suite clean

demo: $(VENV)/.demo-installed
	$(BIN)/python -m halfmoon.experiments.demo --out demo.png

test: lint types suite

lint: $(VENV)/.test-installed
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
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

clean:
	rm -rf $(VENV) .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache demo.png
