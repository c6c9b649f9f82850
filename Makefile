# Each target does its own set-up; the first one to run in a fresh clone takes some minutes, later ones none.
# Needed: Python 3.11 or later and GNU make. Everything else comes into .venv, at the versions of constraints.txt.

PYTHON ?= python3
DEMO_ARGS ?=
PYTEST_ARGS ?=
COVERAGE ?=
AGAIN ?=
BENCH_ARGS ?=

BIN := .venv/bin
PIP := $(BIN)/python -m pip
# Twice quiet: pip would warn of every place that does not carry every package.
INSTALL := $(PIP) install --quiet --quiet --constraint constraints.txt
STAMP := .venv/.stamp

# A slow or stuttering package index should not end a set-up of many files.
export PIP_RETRIES ?= 8
export PIP_DEFAULT_TIMEOUT ?= 120
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

# The tests start some hundred processes: where bytecode is not kept, each of them compiles the whole package anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup web demo test test-all check docs lint types floors bench freeze clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1 \t/p' Makefile | expand -t 18

setup: $(STAMP) web ## the virtual environment in .venv (the other targets do this by themselves)

web: ## the scripts, styles and fonts of the pages, where Node 20 or later is (without them the pages are plain)
	@command -v "$(PYTHON)" >/dev/null && "$(PYTHON)" tools/web.py

demo: $(STAMP) web ## builds the sample workspaces, asks them questions and serves them (DEMO_ARGS=…)
	@$(BIN)/kgplatform demo $(DEMO_ARGS)

PYTEST := $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder
COUNTED := $(if $(COVERAGE),--cov=kgplatform --cov-report= --cov-append --cov-fail-under=90)

# Tests with real processes, browsers and deadlines share the machine with one another. With AGAIN=yes, as CI has it, the
# ones that failed run once more, one after the other; pytest's summaries name them both times.
SECOND = status=$$?; [ "$$status:$(AGAIN)" = 1:yes ] || exit $$status; \
	echo "what failed, once more, one after the other:"; \
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures=none

# Counting covered lines more than doubles the time of the tests, so it is asked for (CI does), and the quick tests
# alone have to reach what counts.
test: check ## every promise once: style, types, floors, rooms and the quick tests, in some minutes (PYTEST_ARGS=…)
	@begun=$$(date +%s); \
	$(PYTEST) -m "not slow" $(COUNTED) tests $(PYTEST_ARGS) || { $(SECOND) -m "not slow" $(COUNTED) tests; } || exit $$?; \
	echo "make test: $$(( $$(date +%s) - begun )) s of tests"

test-all: test docs ## make test, then what takes long: browsers at length, crashes, mutations, third-party sets, doctests
	@begun=$$(date +%s); \
	$(PYTEST) -m slow tests --doctest-modules kgplatform $(PYTEST_ARGS) || \
		{ $(SECOND) -m slow tests --doctest-modules kgplatform; } || exit $$?; \
	echo "make test-all: $$(( $$(date +%s) - begun )) s of further tests"

check: lint types floors ## style, types and floors, without the tests; prints the rooms and their budgets
	@$(BIN)/python tools/rooms.py

docs: $(STAMP) ## the documentation as a site in build/site; fails on a dead link
	@$(BIN)/python tools/rooms.py docs/images/rooms.svg
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

lint: $(STAMP) ## ruff: rules and format
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || \
		{ echo "some files are not formatted; '$(BIN)/ruff format --diff' shows what, '$(BIN)/ruff format' does it" >&2; exit 1; }

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy --no-error-summary

floors: $(STAMP) ## import-linter: a module imports only from the floors below its own
	@report=$$($(BIN)/lint-imports 2>&1) || { printf '%s\n' "$$report" >&2; exit 1; }

bench: $(STAMP) ## the times that are promised, measured here (BENCH_ARGS=startup|ask|ingest|inference)
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

freeze: $(STAMP) ## writes constraints.txt anew from .venv
	@{ sed '/^#/!d' constraints.txt; \
		$(PIP) freeze --all --exclude-editable | grep -viE '^(#|-e |nvidia|triton|cuda)' | sed 's/+cpu$$//' | LC_ALL=C sort -f; \
	} > constraints.txt.new && mv constraints.txt.new constraints.txt

clean: ## takes away what the other targets made, .venv included
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* build dist demo kgplatform/server/static frontend/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is touched last: a set-up that was interrupted is taken up again by the next run. PyTorch is named in the
# first command because, left to a dependency, pip takes the newest build, which brings several GB for graphics cards;
# at the pinned version it prefers the CPU build wherever pip is offered one. The package itself comes last, so that the
# pinned hatchling builds it. morph-kgc asks for older releases of rdflib and pyoxigraph than the rest works with, though
# it runs on these; what it really needs is among our own dependencies.
$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || \
		{ echo "kgplatform needs Python 3.11 or later; there is no $(PYTHON). Name one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.version_info >= (3, 11) or sys.exit("kgplatform needs Python 3.11 or later; $(PYTHON) is " + sys.version.split()[0] + ". Name one: make PYTHON=/path/to/python3.12")'
	@$(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || "$(PYTHON)" -m venv --clear .venv || \
		{ echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "Setting up .venv: about 2 GB, some minutes, only this once." >&2
	@$(INSTALL) --upgrade pip
	@echo "  1/2 PyTorch and the tools for development" >&2
	@$(INSTALL) torch==$$(sed -n 's/^torch==//p' constraints.txt) --group dev
	@echo "  2/2 kgplatform with its other dependencies" >&2
	@$(INSTALL) --no-build-isolation --editable .
	@$(INSTALL) --no-deps morph-kgc
	@touch $@
