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

# A cached kernel knows only its own file's date, not those of the functions compiled into it.
.venv/.kernels: .venv/.ready $(SOURCES)
	@find src -name '*.nb[ic]' -delete
	@touch $@

test: setup
	$(BIN)/pytest -m "not slow"

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
