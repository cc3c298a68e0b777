# Every target sets up what it needs. You need only Python ≥ 3.11, make and a package index.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find src -name '*.py')

.PHONY: setup test test-slow test-matrix pins lint bench reproduce docs dist clean

setup: .venv/.ready .venv/.kernels

.venv/.ready: requirements/runtime.txt requirements/app.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "feint needs Python 3.11 or newer; set PYTHON=…")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.kernels: .venv/.ready $(SOURCES)
	$(BIN)/feint warm
	@touch $@

# Most of a cold run is compiling, for which a process uses one core. The third process works while one waits for a
# browser.
test: setup
	$(BIN)/pytest -n 3 --dist worksteal -m "not slow"

test-slow: setup
	$(BIN)/pytest -m slow

# PYTHONS="python3.12 …" chooses interpreters, and SETS=newest chooses one set of versions. FRESH=1 ignores the pins and
# takes what pip picks today.
test-matrix: dist
	cd tests && ../$(BIN)/python -m matrix ../dist/*.whl --pythons "$(PYTHONS)" $(if $(SETS),--sets "$(SETS)") $(if $(FRESH),--fresh)

pins: dist
	cd tests && ../$(BIN)/python -m matrix.pins ../dist/*.whl --pythons "$(PYTHONS)"

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

# First the paper, with its figures, claims and report; then our own experiments, and a report on all of them. What is
# done is kept. In these minutes some claims stay undecided; `feint reproduce all --full` has as many runs as decide
# most of them, and takes up to an hour (docs/samples.md).
reproduce: setup
	$(BIN)/feint reproduce paper --out results
	$(BIN)/feint reproduce all --out results

.venv/.docs: .venv/.ready requirements/docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

# The build draws figures and sets formulas without a network, and a warning is an error. Open build/docs/index.html.
docs: setup .venv/.docs
	$(BIN)/sphinx-build -b html -W --keep-going -d build/doctrees docs build/docs

# The wheel is built from the sdist, which shows that the sdist is complete.
dist: .venv/.ready
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

clean:
	rm -rf build dist docs/built .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +
