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
.PHONY: help install test test-quick test-newest search lint format data benchmark board report tables figures records docs site ui coverage bench bench-scale \
	bench-data bench-sweep \
	bench-versions bench-report bench-load chaos fuzz clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

install: $(READY) ## Install what users need into .venv

test: lint ## Do all checks of `make lint`, then run all tests (about 8 minutes)
	$(BIN)/pytest -n auto --dist worksteal

test-quick: $(DEVELOPER) ## Run the tests without those that start servers, browsers or processes (about 2 minutes)
	$(BIN)/pytest -n auto --dist worksteal -m 'not slow'

# In an environment of its own: the tests use the versions of constraints.txt.
test-newest: ## Run a small sweep and its report with the newest MLflow of the package index
	@$(PYTHON) -m venv $(NEWEST) && grep -v '^mlflow' constraints.txt > $(NEWEST)/constraints.txt && \
	$(NEWEST)/bin/pip install --no-compile --quiet --upgrade --constraint $(NEWEST)/constraints.txt --editable '.[ui]' mlflow \
		> $(NEWEST)/install.log 2>&1 || \
		{ echo "NOT RUN: the newest MLflow could not be installed; see $(NEWEST)/install.log"; exit 0; }; \
	$(NEWEST)/bin/python -m tests.newest

search: $(DEVELOPER) ## Search for inputs on which the two implementations of a method differ (about an hour)
	HYPOTHESIS_PROFILE=search $(BIN)/pytest -n auto tests/algorithms tests/conformance

# Coverage cannot measure compiled kernels, so their tests run once more in plain Python.
coverage: $(DEVELOPER) ## List the lines that no test reaches, including kernels (about 25 minutes)
	rm -f .coverage .coverage.*
	$(BIN)/pytest -n auto --cov --cov-report=
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=interpreted $(BIN)/pytest -n auto --cov --cov-append --cov-report= $(INTERPRETED)
	$(BIN)/coverage report --fail-under 90

lint: $(DEVELOPER) ## Check format, style and types, and the packages for known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.audit

format: $(DEVELOPER) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

data: $(READY) ## Prepare the data sets of the shipped experiments (FEDBANDIT_MIRROR=dir-or-url)
	$(BIN)/fedbandit data

# The report is built even if runs failed or data are missing (exit code 1), but not after other errors.
benchmark: $(READY) ## Prepare data, run all experiments, build the report (PROFILE=quick or paper)
	@$(BIN)/fedbandit data --or-stand-in
	@echo $(BIN)/fedbandit run --profile $(PROFILE); \
	$(BIN)/fedbandit run --profile $(PROFILE); code=$$?; [ $$code -le 1 ] || exit $$code; \
	echo $(BIN)/fedbandit report; $(BIN)/fedbandit report && \
	echo "To use fedbandit in this terminal: source $(BIN)/activate" && exit $$code

board: $(READY) ## Compare all methods by the protocol on every task with data, then build the report (about an hour)
	@echo $(BIN)/fedbandit board; $(BIN)/fedbandit board; code=$$?; [ $$code -le 1 ] || exit $$code; \
	echo $(BIN)/fedbandit report; $(BIN)/fedbandit report && exit $$code

report: $(READY) ## Build figures, tables and report.html from the runs in MLflow
	$(BIN)/fedbandit report

tables: $(READY) ## Build only the tables (CSV, Markdown, LaTeX)
	$(BIN)/fedbandit report --only tables

figures: $(READY) ## Build only the figures (PNG, SVG)
	$(BIN)/fedbandit report --only figures

records: $(DEVELOPER) ## Write docs/records, the run records behind docs/results.md and docs/board.md, from the runs in MLflow
	$(BIN)/python -m tests.tools.committed

docs: $(DEVELOPER) ## Update the figures, screenshots and tables in docs/ from docs/records
	$(BIN)/python -m tests.tools.renew

site: $(DEVELOPER) ## Build the documentation as web pages with search, in build/site
	$(BIN)/sphinx-build -q -W --keep-going -c docs -d build/doctrees . build/site
	@echo "To read it, open $(CURDIR)/build/site/index.html"

ui: $(READY) ## Open the MLflow UI on a chart of the latest sweep (EXPERIMENT=fig_d to choose one)
	@$(BIN)/fedbandit ui $(EXPERIMENT)

bench: $(DEVELOPER) ## Measure the speed of every method relative to a baseline (takes minutes)
	$(BIN)/python -m tests.performance.bench

bench-scale: $(DEVELOPER) ## Measure time and memory with a million clients (takes minutes)
	$(BIN)/python -m tests.performance.bench --scale

bench-data: $(DEVELOPER) ## Measure speed and memory of the data pipelines (takes minutes)
	$(BIN)/python -m tests.performance.measure_data

bench-sweep: $(DEVELOPER) ## Measure the overhead of a sweep relative to its kernels (takes minutes)
	$(BIN)/python -m tests.performance.measure_sweep

bench-versions: $(DEVELOPER) ## Compare the kernels with those of an earlier commit (COMMIT=main~10; takes minutes)
	$(BIN)/python -m tests.performance.measure_versions $(COMMIT)

bench-report: $(DEVELOPER) ## Measure time and memory of a report on the paper profile, 4,450 runs (takes minutes)
	$(BIN)/python -m tests.performance.measure_report

chaos: $(DEVELOPER) ## Inject more than 300 faults and compare with an undisturbed run (about 20 minutes)
	$(BIN)/python -m tests.chaos

fuzz: $(DEVELOPER) ## Feed 100,000 hostile inputs to the readers (about 15 minutes)
	$(BIN)/python -m tests.fuzz

bench-load: $(DEVELOPER) ## Measure the speed with 100,000 runs in a store, a large import, and a million clients (about 20 minutes)
	$(BIN)/python -m tests.load

clean: ## Remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info build
