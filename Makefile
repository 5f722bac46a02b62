# Every target sets up what it needs on a fresh machine, in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-long check bench bench-service studies docs dist oldest mutants format clean

demo: $(READY)
	$(BIN)/duelwise demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: $(READY)
	$(BIN)/python -m pytest -m 'long and not alone' -n 3 --dist worksteal  # much of it is waiting
	$(BIN)/python -m pytest -m alone

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
	$(BIN)/python -m benchmarks.service --page docs/performance-service.md

# Ten minutes of mixed load on each database, with a fault every 30 s: nothing lost, nothing doubled.
SECONDS := 600
EVERY := 30
studies: $(READY)
	$(BIN)/python -m benchmarks.studies --seconds $(SECONDS) --every $(EVERY)

# Strict: a dead link, a page outside the contents or an undocumented public name fails.
docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@echo "Open docs/_build/index.html"

dist: $(READY)
	rm -rf build dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m build --no-isolation --outdir dist packages/duelwise-client
	$(BIN)/twine check --strict dist/*

# The quick tests with the oldest versions that pyproject.toml allows, in an environment of their own.
oldest: $(READY)
	$(PYTHON) -m venv $(VENV)-oldest
	$(BIN)/python -m tools.oldest > $(VENV)-oldest/oldest.txt
	$(VENV)-oldest/bin/python -m pip install -q -c $(VENV)-oldest/oldest.txt -e '.[all]' pytest hypothesis psutil
	$(VENV)-oldest/bin/python -m pytest -W default --ignore tests/tools --ignore tests/docs

# A hundred small changes to the code, one at a time: do the tests notice? Over an hour; not in CI. A change
# to a kernel takes minutes, any other seconds. Interrupted, it goes on where it stopped.
mutants: $(READY)
	$(BIN)/python -m tools.mutants --count 100 --seed 0

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(VENV)-oldest .pytest_cache .ruff_cache .hypothesis demo docs/_build docs/reference docs/tutorials build dist

# torch comes first and pinned: asked for by another package it would bring gigabytes of GPU libraries.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $(READY)
