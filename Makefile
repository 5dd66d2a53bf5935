# Everything runs in a virtual environment of the project's own; only Python 3.11+, git and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo check test test-slow bench conformance clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)  ## train, show, export, predict and verify on a bundled sample
	$(BIN)/rulekit demo

check: $(STAMP)  ## before each commit: lint, format, types, fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 -m "not slow and not full"

test: $(STAMP)  ## everything but the paper tables
	$(BIN)/pytest -n 2 -m "not slow"

test-slow: $(STAMP)  ## paper tables on the shared benchmark data
	$(BIN)/pytest -m slow

conformance: $(STAMP)  ## the long parity run over all exporters
	$(BIN)/pytest -n 2 tests/conformance

bench: $(STAMP)  ## accuracy and speed, peers in the same run
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
