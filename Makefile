# Every target creates and reuses .venv; a second call does not repeat finished work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEVELOPER := $(VENV)/.developer
NEWEST := build/newest
PROFILE ?= quick
COMMIT ?= main~10
INTERPRETED := tests/algorithms/test_equivalence.py tests/algorithms/test_invariants.py \
	tests/algorithms/test_ties.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Some images set it to 1. Then every process compiles all modules it imports, and starts much slower.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install test test-quick test-newest search lint format data benchmark board board-verified report tables figures records docs site ui coverage bench bench-scale \
	bench-data bench-sweep \
	bench-versions bench-report bench-load chaos fuzz clean

help:
	@for group in Use Reproduce Develop; do echo "$$group$$([ $$group != Reproduce ] || echo ': first make benchmark PROFILE=paper (about an hour)')"; \
	awk -F":.*## $$group: " "/^[a-z-]+:.*## $$group: /"'{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST); done
	@echo 'For your own data: source $(BIN)/activate, then fedbandit recommend FILE'

# Users need less than developers, who also need linters, Sphinx and fuzzers. uv is faster than pip, but ignores the settings of pip.
# First the packages, whose files must have the listed hashes (HASHES=no: only their versions are checked); then the project.
$(READY): EXTRA := all
$(READY): HASHED := requirements.txt
$(DEVELOPER): EXTRA := dev
$(DEVELOPER): HASHED := requirements-dev.txt
$(READY) $(DEVELOPER): pyproject.toml constraints.txt requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "fedbandit-bench needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11 ..." >&2; exit 1; }
	@echo "Installing packages into $(VENV) (first time only, one to two minutes)."
	@$(PYTHON) -m venv $(VENV)
	@installer="pip install --no-compile --progress-bar off"; \
	$(BIN)/pip config list 2>/dev/null | grep -qE 'index|find-links|cert|proxy|trusted-host' || \
		! $(BIN)/pip install --quiet --constraint constraints.txt uv > $(VENV)/install.log 2>&1 || \
		installer="uv pip install --python $(BIN)/python"; \
	: > $(VENV)/install.log; seconds=0; \
	run() { $(BIN)/$$installer "$$@" >> $(VENV)/install.log 2>&1 & job=$$!; while kill -0 $$job 2>/dev/null; do sleep 1; \
		seconds=$$((seconds + 1)); [ $$((seconds % 20)) -ne 0 ] || echo "  installing, $$seconds s so far"; done; wait $$job; }; \
	trap 'kill $$job; exit 130' INT TERM; \
	if [ "$(HASHES)" = no ]; then echo "NOT CHECKED: the hashes of the packages (HASHES=no)"; \
	elif ! run --require-hashes --no-deps --requirement $(HASHED); then \
		if grep -qiE 'do not match the hashes|hash mismatch' $(VENV)/install.log; then tail -20 $(VENV)/install.log >&2; \
			echo "A package does not have the hash in $(HASHED). If you trust your index: make HASHES=no ..." >&2; exit 1; fi; \
		echo "NOT CHECKED: the hashes of the packages ($(HASHED) has none for this system)"; fi; \
	run --constraint constraints.txt --editable '.[$(EXTRA)]' || { grep -v '^WARNING: Location' $(VENV)/install.log | tail -20 >&2; \
		echo "The packages could not be installed; the whole output is in $(VENV)/install.log" >&2; exit 1; }
	@touch $(READY) $@

install: $(READY) ## Use: Install what users need into .venv (one to two minutes)

test: lint ## Develop: Do the checks of `make lint`, then all tests (8 minutes)
	$(BIN)/pytest -n auto --dist worksteal

test-quick: $(DEVELOPER) ## Develop: Run the tests that start no servers, browsers or processes
	$(BIN)/pytest -n auto --dist worksteal -m 'not slow'

# In an environment of its own: the tests use the versions of constraints.txt.
test-newest: ## Develop: Run a small sweep with the newest MLflow
	@$(PYTHON) -m venv $(NEWEST) && grep -v '^mlflow' constraints.txt > $(NEWEST)/constraints.txt && \
	$(NEWEST)/bin/pip install --no-compile --quiet --upgrade --constraint $(NEWEST)/constraints.txt --editable '.[ui]' mlflow \
		> $(NEWEST)/install.log 2>&1 || \
		{ echo "NOT RUN: the newest MLflow could not be installed; see $(NEWEST)/install.log"; exit 0; }; \
	$(NEWEST)/bin/python -m tests.newest

search: $(DEVELOPER) ## Develop: Search for inputs on which two implementations differ
	HYPOTHESIS_PROFILE=search $(BIN)/pytest -n auto tests/algorithms tests/conformance

# Coverage cannot measure compiled kernels, so their tests run once more in plain Python.
coverage: $(DEVELOPER) ## Develop: List the lines that no test reaches (25 minutes)
	rm -f .coverage .coverage.*
	$(BIN)/pytest -n auto --cov --cov-report=
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=interpreted $(BIN)/pytest -n auto --cov --cov-append --cov-report= $(INTERPRETED)
	$(BIN)/coverage report --fail-under 90

lint: $(DEVELOPER) ## Develop: Check format, style, types, and packages for weaknesses
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.audit

format: $(DEVELOPER) ## Develop: Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

data: $(READY) ## Reproduce: Prepare the data sets only (FEDBANDIT_MIRROR=dir-or-url)
	$(BIN)/fedbandit data

# The report is built even if runs failed or data are missing (exit code 1), but not after other errors.
benchmark: $(READY) ## Use: Get data, run all experiments, report (five minutes)
	@$(BIN)/fedbandit data --or-stand-in
	@echo $(BIN)/fedbandit run --profile $(PROFILE); \
	$(BIN)/fedbandit run --profile $(PROFILE); code=$$?; [ $$code -le 1 ] || exit $$code; \
	echo $(BIN)/fedbandit report; $(BIN)/fedbandit report && \
	echo "To use fedbandit in this terminal: source $(BIN)/activate" && exit $$code

board: $(READY) ## Use: Compare all methods on every task (about an hour)
	@echo $(BIN)/fedbandit board; $(BIN)/fedbandit board; code=$$?; [ $$code -le 1 ] || exit $$code; \
	echo $(BIN)/fedbandit report; $(BIN)/fedbandit report && exit $$code

board-verified: $(DEVELOPER) ## Reproduce: Run all runs of submitted bundles again
	$(BIN)/python -m tests.tools.submissions

report: $(READY) ## Use: Build the figures, tables and report.html again
	$(BIN)/fedbandit report

tables: $(READY) ## Reproduce: Build only the tables (CSV, Markdown, LaTeX)
	$(BIN)/fedbandit report --only tables

figures: $(READY) ## Reproduce: Build only the figures (PNG, SVG)
	$(BIN)/fedbandit report --only figures

records: $(DEVELOPER) ## Reproduce: Write docs/records from the runs in MLflow
	$(BIN)/python -m tests.tools.committed

docs: $(DEVELOPER) ## Reproduce: Update figures and tables in docs/ from docs/records
	$(BIN)/python -m tests.tools.renew

site: $(DEVELOPER) ## Develop: Build the documentation as web pages, in build/site
	$(BIN)/sphinx-build -q -W --keep-going -c docs -d build/doctrees . build/site
	@echo "To read it, open $(CURDIR)/build/site/index.html"

ui: $(READY) ## Use: Open the results in MLflow (EXPERIMENT=fig_d: one)
	@$(BIN)/fedbandit ui $(EXPERIMENT)

bench: $(DEVELOPER) ## Develop: Measure the speed of every method against a baseline
	$(BIN)/python -m tests.performance.bench

bench-scale: $(DEVELOPER) ## Develop: Measure time and memory with a million clients
	$(BIN)/python -m tests.performance.bench --scale

bench-data: $(DEVELOPER) ## Develop: Measure speed and memory of the data pipelines
	$(BIN)/python -m tests.performance.measure_data

bench-sweep: $(DEVELOPER) ## Develop: Measure the overhead of a sweep
	$(BIN)/python -m tests.performance.measure_sweep

bench-versions: $(DEVELOPER) ## Develop: Compare kernels with an earlier commit (COMMIT=main~10)
	$(BIN)/python -m tests.performance.measure_versions $(COMMIT)

bench-report: $(DEVELOPER) ## Develop: Measure a report on the paper profile, 4,450 runs
	$(BIN)/python -m tests.performance.measure_report

chaos: $(DEVELOPER) ## Develop: Inject more than 300 faults (20 minutes)
	$(BIN)/python -m tests.chaos

fuzz: $(DEVELOPER) ## Develop: Feed 100,000 hostile inputs to the readers (15 minutes)
	$(BIN)/python -m tests.fuzz

bench-load: $(DEVELOPER) ## Develop: Measure 100,000 runs in a store, a large import
	$(BIN)/python -m tests.load

clean: ## Develop: Remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info build
