# Every target sets up what it needs on a fresh machine, in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-long check bench bench-service format clean

demo: $(READY)
	$(BIN)/duelwise demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

test-long: $(READY)
	$(BIN)/python -m pytest -m long

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/pip install -q -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks --page docs/performance.md
	$(BIN)/python -m benchmarks.limits --page docs/performance.md

# Needs wrk and PostgreSQL: apt-get install wrk postgresql
bench-service: $(READY)
	$(BIN)/pip install -q -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks.stacks --page docs/decisions/the-live-path.md
	$(BIN)/python -m benchmarks.service --page docs/performance.md

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis demo

# torch comes first and pinned: asked for by another package it would bring gigabytes of GPU libraries.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $(READY)
