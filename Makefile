# Every target creates and reuses .venv; a second call does not repeat finished work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROFILE ?= quick
COMMIT ?= 0c0901f
INTERPRETED := tests/algorithms/test_equivalence.py tests/algorithms/test_as_published.py tests/algorithms/test_invariants.py \
	tests/algorithms/test_ties.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install test lint format data benchmark board report tables figures records docs site ui coverage bench bench-scale \
	bench-data bench-sweep \
	bench-versions bench-report bench-load chaos fuzz clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "fedbandit-bench needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11 ..." >&2; exit 1; }
	@echo "Installing packages into $(VENV) (first time only, two to three minutes)."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --progress-bar off --constraint constraints.txt --editable '.[all,dev]' > $(VENV)/install.log 2>&1 & \
	job=$$!; trap 'kill $$job; exit 130' INT TERM; while kill -0 $$job 2>/dev/null; do sleep 1; \
		seconds=$$((seconds + 1)); packages=$$(grep -c '^Collecting' $(VENV)/install.log); \
		[ $$((seconds % 20)) -ne 0 ] || if grep -q '^Installing' $(VENV)/install.log; \
		then echo "  installing, $$seconds s so far"; else echo "  resolved $$packages packages so far"; fi; done; \
	wait $$job || { grep -v '^WARNING: Location' $(VENV)/install.log | tail -20 >&2; \
		echo "The packages could not be installed; see the output of pip in $(VENV)/install.log" >&2; exit 1; }
	@touch $@

install: $(READY) ## Install everything into .venv

test: lint ## Do all checks of `make lint`, then run the tests (about 10 minutes)
	$(BIN)/pytest -n auto

# Coverage cannot measure compiled kernels, so their tests run once more in plain Python.
coverage: $(READY) ## List the lines that no test reaches, including kernels (about 25 minutes)
	rm -f .coverage .coverage.*
	$(BIN)/pytest -n auto --cov --cov-report=
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=interpreted $(BIN)/pytest -n auto --cov --cov-append --cov-report= $(INTERPRETED)
	$(BIN)/coverage report --fail-under 90

lint: $(READY) ## Check format, style and types, and the packages for known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.audit

format: $(READY) ## Format the code
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

records: $(READY) ## Write docs/records, the table of run records behind docs/results.md, from the runs in MLflow
	$(BIN)/python -m tests.tools.committed

docs: $(READY) ## Update the figures, screenshots and tables in docs/ from docs/records
	$(BIN)/python -m tests.tools.renew

site: $(READY) ## Build the documentation as web pages with search, in build/site
	$(BIN)/sphinx-build -q -W --keep-going -c docs -d build/doctrees . build/site
	@echo "To read it, open $(CURDIR)/build/site/index.html"

ui: $(READY) ## Open the MLflow UI on a chart of the latest sweep (EXPERIMENT=fig_d to choose one)
	@$(BIN)/fedbandit ui $(EXPERIMENT)

bench: $(READY) ## Measure the speed of every method relative to a baseline (takes minutes)
	$(BIN)/python -m tests.performance.bench

bench-scale: $(READY) ## Measure time and memory with a million clients (takes minutes)
	$(BIN)/python -m tests.performance.bench --scale

bench-data: $(READY) ## Measure speed and memory of the data pipelines (takes minutes)
	$(BIN)/python -m tests.performance.measure_data

bench-sweep: $(READY) ## Measure the overhead of a sweep relative to its kernels (takes minutes)
	$(BIN)/python -m tests.performance.measure_sweep

bench-versions: $(READY) ## Compare the kernels with those of an earlier commit (COMMIT=0c0901f, version 0.1.0; takes minutes)
	$(BIN)/python -m tests.performance.measure_versions $(COMMIT)

bench-report: $(READY) ## Measure time and memory of a report on the paper profile, 4,450 runs (takes minutes)
	$(BIN)/python -m tests.performance.measure_report

chaos: $(READY) ## Inject more than 200 faults and compare with an undisturbed run (about 15 minutes)
	$(BIN)/python -m tests.chaos

fuzz: $(READY) ## Feed 100,000 hostile inputs to the readers (about 15 minutes)
	$(BIN)/python -m tests.fuzz

bench-load: $(READY) ## Measure the speed with 10,000 runs in a store, and with a million clients (takes minutes)
	$(BIN)/python -m tests.load

clean: ## Remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info build
