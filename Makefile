# Builds, runs and tests the project; `flux-tenancy` is the command for everything else. `make help` lists the targets.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/bin/flux-tenancy
TESTED := $(VENV)/installed-dev
# What a caller may set, after `make` only: many CI systems export NAME, and nothing in the environment may choose a stack.
# A value is taken as it is written: make expands nothing in it, and it reaches a command only as the variable arg_… of its
# environment. So neither make nor a shell ever runs a part of it, whoever has chosen it.
INPUTS := STACK NAME PYTEST CONTEST
given = $(filter command override,$(origin $(1)))
$(foreach input,$(INPUTS),$(if $(call given,$(input)),\
	$(eval override $(input) := $$(value $(input)))$(eval export arg_$(input) := $$(value $(input)))))
# $(call argument,STACK,staging): its value as one argument, or the default if the caller has not set it.
argument = $(if $(call given,$(1)),"$$arg_$(1)",$(2))
# With the options in PYTEST, where quotes keep words together as in a shell.
pytest = printf %s $(call argument,PYTEST,"") | xargs $(RUN) -m pytest $(1)
# A lab in each process: they wait for their clusters more than they work. tests/conftest.py says what goes where.
SIDE_BY_SIDE = --numprocesses=3 --dist=loadscope --no-loadscope-reorder

# Packages are installed without bytecode, most of which nobody needs; each module is compiled when it is first imported,
# and kept where no other Python looks.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/bytecode

.DEFAULT_GOAL := help
# Each target with a description is a command, not a file.
.PHONY: help lint-fast $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' Makefile)

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A stamp is newer than its locks only when pip has finished; an interrupted install is done again.
# The pip of the lock comes first: the one that Python brings compares every file of every release, for a minute.
PIP_INSTALL = $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes
$(VENV)/installed: requirements.txt requirements-lab.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than Python 3.11" >&2; echo "remedy: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo "Installing Python packages into $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)
	@sed -n '/^pip==/,/[^\]$$/p' requirements-lab.txt > $(VENV)/pip.txt
	@$(PIP_INSTALL) -r $(VENV)/pip.txt
	@$(PIP_INSTALL) -r requirements.txt -r requirements-lab.txt
	@touch $@

# What only the tests, the checks and the benchmark need.
$(TESTED): $(INSTALLED) requirements-dev.txt
	@echo "Installing Python packages of the tests into $(VENV)" >&2
	@$(PIP_INSTALL) -r requirements-dev.txt
	@touch $@

# The project itself, for its command.
$(INSTALLED): $(VENV)/installed pyproject.toml requirements.in flux_tenancy/version.py
	@PYTHONWARNINGS=ignore $(RUN) -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable .
	@touch $@

up: $(INSTALLED) ## Build the tools, start the cluster of STACK (default: staging), and apply the stack; repairs drift first
	@$(RUN) -m dev.lab up $(call argument,STACK,staging)

start: $(INSTALLED) ## Start the lab without Pulumi
	@$(RUN) -m dev.lab start $(call argument,STACK,staging)

stop: $(INSTALLED) ## Stop all processes of the lab; its state stays
	@$(RUN) -m dev.lab stop

down: $(INSTALLED) ## Stop the lab and delete its state, or only the cluster of STACK; built tools stay
	@$(RUN) -m dev.lab down $(call argument,STACK)

status: $(INSTALLED) ## Show what runs where, and how to reach it
	@$(RUN) -m dev.lab status

env: $(INSTALLED) ## Print settings for your shell, with STACK as the current stack: eval "$$(make -s env)"
	@$(RUN) -m dev.lab env $(call argument,STACK)

logs: $(INSTALLED) ## List logs, or show those of NAME
	@$(RUN) -m dev.lab logs $(call argument,NAME)

tools: $(INSTALLED) ## Build all tools, including those of the exhaustive tests
	@$(RUN) -m dev.lab.build test-all

test: $(TESTED) lint-fast ## Check the sources and run the tests that every change must pass, with real tools
	@$(RUN) -m dev.lab.build test
	@$(call pytest,$(SIDE_BY_SIDE))

test-all: $(TESTED) lint ## Run these and the exhaustive tests: all requests under all engines, upgrades from older releases
	@$(RUN) -m dev.lab.build test-all
	@$(call pytest,$(SIDE_BY_SIDE) --all)

test-unit: $(TESTED) ## Run the tests that need only Python
	@$(call pytest,$(SIDE_BY_SIDE) tests/unit)

lint: lint-fast ## Check the Python and Go sources and the workflows
	@$(RUN) -m dev.lab.vet

GO_SOURCES = dev/lab/tools flux_tenancy/admission
# All of it that compiles nothing.
lint-fast: $(TESTED)
	@$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo --no-cache
	@test -z "$$(gofmt -l $(GO_SOURCES))" || { gofmt -l $(GO_SOURCES); exit 1; }
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/* flux_tenancy/template/tenant/*
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-actions .github/actions/*/* flux_tenancy/template/.github/actions/*/* review/*
	@$(VENV)/bin/zizmor --offline --no-progress --quiet .github flux_tenancy/template/.github flux_tenancy/template/tenant/* review

generate: $(TESTED) ## Write the JSON Schemas, the reference pages, and the golden files of the tests; review their difference
	@$(INSTALLED) schemas
	@$(RUN) -m dev.reference.pages
	@GOLDEN=write $(RUN) -m pytest -q tests/unit -m golden

docs: $(TESTED) ## Build the documentation as a site into site/
	@$(VENV)/bin/zensical build --clean --strict

dist: $(INSTALLED) ## Build the wheel into dist/, with constraints.txt, its bill of materials (CycloneDX) and its provenance (SLSA)
	@$(RUN) -m dev.distribution

bench: $(TESTED) ## Measure against peers; CONTEST=review, kubectl, admission, neighbours, lanes, backends or fleet runs one contest
	@$(RUN) -m dev.bench $(call argument,CONTEST)
