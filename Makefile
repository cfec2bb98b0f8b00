# Needs Python 3.11+, make and git. Everything is installed into .venv, nothing elsewhere.

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help run test lint docs bench attack coverage release clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Sojourn needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Installing into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

run: $(READY)  ## every figure and claim of the paper, quickly, as a report in reproduction/
	@$(BIN)/sojourn reproduce --quick

lint: $(READY)  ## style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One process more than there are processors: tests of servers wait most of their time.
test: lint  ## lint, then every test and doctest
	$(BIN)/pytest -q -n $$($(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist worksteal
	@echo "All checks passed."

docs: $(READY)  ## the documentation as a site: open site/index.html
	@$(BIN)/python -m website

bench: $(READY)  ## speed against bare loops and other packages; ARGS=--quick for a rough look
	@$(BIN)/python -m benchmarks $(ARGS)

attack: $(READY)  ## kill, hang, fill, flood and fuzz the service for ten minutes; ARGS="--only kill"
	@$(BIN)/python -m attack $(ARGS)

coverage: $(READY)  ## every test, and how much of the code they run; slower than make test
	$(BIN)/pytest -q -n auto --dist worksteal --cov

release: $(READY)  ## wheel and sdist in dist/, installed from the package index with every extra
	@rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	SOJOURN_RELEASE=1 $(BIN)/pytest -q -m '' tests/release tests/logs/test_case_study.py \
	    tests/simulation/test_same_bits.py

clean:  ## remove .venv and everything generated
	rm -rf .venv .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov build dist site
	find src research tests -name __pycache__ -type d -exec rm -rf {} +
