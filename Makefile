# Every target makes and reuses .venv by itself; a second call does no work twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROFILE ?= quick
INTERPRETED := tests/algorithms/test_equivalence.py tests/algorithms/test_as_published.py tests/algorithms/test_invariants.py \
	tests/algorithms/test_ties.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help test lint format data benchmark report tables figures docs ui coverage bench bench-scale bench-data bench-sweep \
	bench-report bench-load chaos fuzz clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "fedbandit-bench needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11 ..." >&2; exit 1; }
	@echo "Setting up $(VENV), once: packages are downloaded and installed, two or three minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --progress-bar off --constraint constraints.txt --editable '.[dev]' > $(VENV)/install.log 2>&1 & \
	job=$$!; trap 'kill $$job; exit 130' INT TERM; while kill -0 $$job 2>/dev/null; do sleep 1; \
		seconds=$$((seconds + 1)); found=$$(grep -c '^Collecting' $(VENV)/install.log); \
		[ $$((seconds % 20)) -ne 0 ] || if grep -q '^Installing' $(VENV)/install.log; \
		then echo "  installing them: $$seconds s so far"; else echo "  $$found packages found"; fi; done; \
	wait $$job || { grep -v '^WARNING: Location' $(VENV)/install.log | tail -20 >&2; \
		echo "The packages could not be installed; all that pip said is in $(VENV)/install.log" >&2; exit 1; }
	@touch $@

test: lint ## Lint, type-check and run the tests
	$(BIN)/pytest -n auto

# Kernels are machine code, which coverage cannot see into: their tests run once more in plain Python.
coverage: $(READY) ## Which lines no test reaches, kernels included (half an hour)
	rm -f .coverage .coverage.*
	$(BIN)/pytest -n auto --cov --cov-report=
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=interpreted $(BIN)/pytest -n auto --cov --cov-append --cov-report= $(INTERPRETED)
	$(BIN)/coverage report --fail-under 90

lint: $(READY) ## Check format, style, types, and packages for known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.audit

format: $(READY) ## Put the code into the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

data: $(READY) ## Prepare LastFM, Delicious and MovieLens (FEDBANDIT_MIRROR=dir-or-url)
	$(BIN)/fedbandit data

# Runs that failed, or data that are missing (exit code 1), are no reason to leave out the report; anything worse is.
benchmark: $(READY) ## Data (stand-ins where nothing can be had), all experiments, report (PROFILE=quick or paper)
	@$(BIN)/fedbandit data || $(BIN)/python -m benchmark.fill_in
	@echo $(BIN)/fedbandit run --profile $(PROFILE); \
	$(BIN)/fedbandit run --profile $(PROFILE); code=$$?; [ $$code -le 1 ] || exit $$code; \
	echo $(BIN)/fedbandit report; $(BIN)/fedbandit report && \
	echo "fedbandit  is in $(BIN): source $(BIN)/activate" && exit $$code

report: $(READY) ## Figures, tables, how we compare, and one page, from what is in MLflow
	$(BIN)/fedbandit report

tables: $(READY) ## Only the tables: CSV, Markdown, LaTeX
	$(BIN)/fedbandit report --only tables

figures: $(READY) ## Only the figures: PNG, SVG
	$(BIN)/fedbandit report --only figures

docs: $(READY) ## Renew the pictures and tables of the pages in docs/ from what is in MLflow
	$(BIN)/python -m docs.renew

ui: $(READY) ## MLflow's pages, opened on the chart of the latest experiment (EXPERIMENT=fig_e for another)
	@$(BIN)/fedbandit ui $(EXPERIMENT)

bench: $(READY) ## Speed of every method against the floor, growth in clients (minutes)
	$(BIN)/fedbandit bench

bench-scale: $(READY) ## A million clients: memory and time (minutes)
	$(BIN)/fedbandit bench --scale

bench-data: $(READY) ## Speed and memory of the data pipelines against their limits (minutes)
	$(BIN)/python -m benchmark.measure_data

bench-sweep: $(READY) ## Overhead of the harness over its kernels, against its limits (minutes)
	$(BIN)/python -m benchmark.measure_sweep

bench-report: $(READY) ## Time and memory of a report over a full paper profile, against their limits (minutes)
	$(BIN)/python -m benchmark.measure_report

chaos: $(READY) ## Disturb the real program in 200 ways and compare with an undisturbed run (15 minutes)
	$(BIN)/python -m tests.chaos

fuzz: $(READY) ## Hostile archives, imports, experiment files and command lines: 100,000 inputs (minutes)
	$(BIN)/python -m tests.fuzz

bench-load: $(READY) ## 10,000 runs in one store, and a run with a million clients: times and memory (minutes)
	$(BIN)/python -m tests.load

clean: ## Remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info build
