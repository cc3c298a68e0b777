# Every target sets up what it needs. Python ≥ 3.11, make and a package index are all that must be there.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find src -name '*.py')

.PHONY: setup test test-slow lint bench reproduce clean

setup: .venv/.ready .venv/.kernels

.venv/.ready: requirements/runtime.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "feint needs Python 3.11 or newer; set PYTHON=…")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# Kernels of older sources are never used again.
.venv/.kernels: .venv/.ready $(SOURCES)
	@find src -name '*.nb[ic]' -delete
	$(BIN)/feint warm
	@touch $@

# Two processes: most of a cold run is compiling, which a process does on one core.
test: setup
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-slow: setup
	$(BIN)/pytest -m slow

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

reproduce: setup
	$(BIN)/feint reproduce --out results

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +
