# make grade   everything: environment, grades of all submissions, reports, scoreboard
# make test    the same environment, all tests; of long corpora a share, the same in every run
# The rest:    test-all attacks check lint bench compilers clean. Nothing needs root, a GPU, torch or a key.

SHELL := /bin/bash
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc 2>/dev/null || echo 1)
# many tests wait for what must not end in time, or for a box to start
TESTERS ?= $(shell expr $(JOBS) \* 2)
# the first of these that is new enough; make PYTHON=/path/to/python grade takes another
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && echo $$p && break; done)

# where it is set, every command and every worker compiles this project anew
export PYTHONDONTWRITEBYTECODE =
export HARNESS_TEST_ALL
# processes side by side, each with a thread for every core, wait for each other
export OPENBLAS_NUM_THREADS ?= 1

BIN := .venv/bin
STAMP := .venv/.installed
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20

.PHONY: help grade test test-all attacks check lint bench compilers clean environment

help:
	@sed -n 's/^# //p' Makefile | head -n 3

grade: environment compilers
	@status=0; begun=$$(date +%s); echo "grading every submission, $(JOBS) at a time"; \
	$(BIN)/harness grade --all -j $(JOBS) || status=$$?; \
	[ $$status -ne 130 ] || exit 130; \
	echo "grading took $$(($$(date +%s) - begun)) s"; \
	begun=$$(date +%s); echo "writing reports and the scoreboard"; \
	$(BIN)/harness report && $(BIN)/harness scoreboard && \
	echo "reports and scoreboard took $$(($$(date +%s) - begun)) s" && exit $$status

test: environment
	$(BIN)/python -m compileall -q harness tests
	$(BIN)/python -m pytest -m 'not alone' -n $(TESTERS) --dist loadgroup
	$(BIN)/python -m pytest -m alone

# every corpus whole, the site, the package to publish, and the attacks in every tier that works here
test-all: environment
	@$(PIP) --editable '.[docs,release]' || \
		echo "the extras docs and release could not be installed; their tests say what was not run" >&2
	$(MAKE) test HARNESS_TEST_ALL=1
	@set -e; for tier in $$($(BIN)/python -m tests.tiers_here); do \
		echo "== attacks, tier $$tier"; $(BIN)/python -m tests.attacks --tier $$tier --page docs/security.md; done

attacks: environment
	$(BIN)/python -m tests.attacks --page docs/security.md

check: environment
	$(BIN)/harness check

lint: environment
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check harness tests
	$(BIN)/mypy --strict harness
	$(BIN)/python -m tests.code_shape

bench: environment
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

# compilers that the languages of answers need and this machine lacks; without them answers are graded as far as possible
compilers: environment
	@$(BIN)/python -m harness.languages | while read -r extra size what; do \
		[ $$extra = zig ] || [ -z "$(HARNESS_NO_NVCC)" ] || { echo "HARNESS_NO_NVCC is set: no CUDA compiler"; continue; }; \
		begun=$$(date +%s); echo "fetching $$what (about $$size MB, once)"; \
		$(PIP) --editable ".[$$extra]" </dev/null || { echo "not fetched: going on without $$what" >&2; continue; }; \
		echo "fetching took $$(($$(date +%s) - begun)) s"; \
		[ $$extra != zig ] || $(BIN)/python -c "$$WARM" </dev/null; \
	done

define WARM
from harness.cuda.compilers import host_compiler
from harness.cuda.emulator import archive
print("building the emulated device (once)", flush=True)
archive.runtime(host_compiler.host_compiler())
endef
export WARM

environment: $(STAMP)

# installed once, and again when pyproject.toml has changed
$(STAMP): pyproject.toml
	@[ -n "$(PYTHON)" ] && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed; found: $$("$(or $(PYTHON),python3)" --version 2>&1)." >&2; \
		echo "Install it, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	@echo "making .venv with $$("$(PYTHON)" --version) and installing (once; one to three minutes)"
	@begun=$$(date +%s); "$(PYTHON)" -m venv .venv && $(PIP) --editable '.[dev]' && \
	echo "installing took $$(($$(date +%s) - begun)) s"
	@touch $@

clean:
	rm -rf .venv .harness .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
