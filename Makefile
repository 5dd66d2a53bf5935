# Everything runs in a virtual environment of the project's own; only Python 3.11+, git and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Without compiled files beside the modules each of the many processes of the tests would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test test-slow bench conformance runtimes serve docs clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	# Python compiles what it imports; compiling all that is installed takes longer than the rest of the installation.
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)  ## train, show, export, predict and verify on a bundled sample
	$(BIN)/rulekit demo

check: $(STAMP)  ## before each commit: lint, format, types, fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not full"

test: $(STAMP)  ## everything but the paper tables and what needs other runtimes (make runtimes)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not long" --ignore tests/benchmarks/runtimes

test-slow: $(STAMP)  ## paper tables on the shared benchmark data
	$(BIN)/pytest -m slow

conformance: $(STAMP)  ## the long parity run over all exporters, then every other long run
	$(BIN)/pytest -n 2 --dist worksteal --model-rows 4000 tests/conformance tests/benchmarks/test_parity.py
	$(BIN)/pytest -n 2 --dist worksteal -m long --ignore tests/conformance --ignore tests/benchmarks/test_parity.py

runtimes: $(STAMP)  ## the exports in every runtime that can be installed here; the others are skipped with a reason
	$(BIN)/python -m benchmarks.proofs.runtimes.environments
	$(BIN)/pytest -n 2 --dist loadfile -rs tests/benchmarks/runtimes

serve: $(STAMP)  ## the sample page, which scores a model in the browser
	$(BIN)/python -m samples.serve

docs: $(STAMP)  ## the site in build/site, with search and an API reference; a broken link is an error
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(STAMP)  ## accuracy and speed, peers in the same run
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) build dist samples/serve/node_modules *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
