# Each target is one command of the lab, the tests or the tools; `make help` lists them.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
STACK ?= staging
OUTPUT ?= table
OUT ?= .render
BASE ?= main
STACK_GIVEN := $(filter command environment,$(origin STACK))
BASE_GIVEN := $(filter command environment,$(origin BASE))
APPROVED_GIVEN := $(filter-out undefined,$(origin APPROVED))
# What a caller may set. A value is taken as it is written: make expands nothing in it, and it reaches a command only as
# the variable arg_… of its environment. So neither make nor a shell ever runs a part of it, whoever has chosen it.
INPUTS := AGE APPROVED BACKUP BASE BRANCH COMMIT CONTEST EXIT_CODE FILE FLUX_INDEX FOLDER GITHUB KYVERNO_INDEX LIVE MOVE MOVED NAME \
	NAMESPACE NEW OFFBOARD OPENPGP OUT OUTPUT PLATFORM POLICIES POST_QUANTUM PULL_REQUEST PYTEST REPO RESUME RUN_ID SOURCE \
	STACK STACKS SUSPEND SYNC TENANT WITHDRAW WITHOUT
$(foreach input,$(INPUTS),$(eval override $(input) := $$(value $(input)))$(eval export arg_$(input) := $$(value $(input))))
# $(call option,--repo,REPO): the option with its value, and nothing if there is none.
option = $(if $($(2)),$(1) "$$arg_$(2)")
# $(call each,--stack,STACK): the option for each of several values, as in STACK=staging,production.
each = $(if $($(2)),$$(printf ' $(1) %s' $$(printf %s "$$arg_$(2)" | tr , ' ')))
# STACK where the caller has set it, not its default: an empty one is an argument too, and an error of `down`.
GIVEN = $(if $(STACK_GIVEN),"$$arg_STACK")
# With the options in PYTEST, where quotes keep words together as in a shell.
pytest = printf %s "$$arg_PYTEST" | xargs $(RUN) -m pytest $(1)
# In the lab's environment for STACK, or for the first of several.
IN_STACK = $(RUN) -m lab exec "$${arg_STACK%%,*}" --
# What an update of STACK is held to: the digest of an approved render, or the path of its digest.json. The program reads
# the variable itself (components/stack/approval.py), and refuses one that is empty.
ifneq ($(APPROVED_GIVEN),)
export FLUX_TENANCY_APPROVED = $(if $(filter sha256:%,$(APPROVED)),$(APPROVED),$(abspath $(APPROVED)))
endif
# What answers for an API server in reviews, if the lab has built it.
ADMISSION = FLUX_TENANCY_ADMISSION=$${FLUX_TENANCY_ADMISSION:-$$($(RUN) -m lab.built offline-admission)}
# A lab in each process: they wait for their clusters more than they work. tests/conftest.py says what goes where.
SIDE_BY_SIDE = --numprocesses=3 --dist=loadscope --no-loadscope-reorder

# Packages are installed without bytecode, most of which nobody needs; each module is compiled when it is first imported,
# and kept where no other Python looks.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/bytecode

.DEFAULT_GOAL := help
# Each target with a description is a command, not a file.
.PHONY: lint-fast $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' Makefile)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The stamp is newer than the locks only when pip has finished; an interrupted install is done again.
# The pip of the lock comes first: the one that Python brings compares every file of every release, for a minute.
$(VENV)/installed: requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than Python 3.11" >&2; echo "remedy: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo "Installing Python packages into $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)
	@sed -n '/^pip==/,/[^\]$$/p' requirements-dev.txt > $(VENV)/pip.txt
	@$(RUN) -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $(VENV)/pip.txt
	@$(RUN) -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.txt -r requirements-dev.txt
	@touch $@

up: $(VENV)/installed ## Build the tools, start the cluster of STACK, and bring the stack up; restores what differs; APPROVED=… refuses anything else
	@$(RUN) -m lab up "$$arg_STACK"

start: $(VENV)/installed ## The same without Pulumi
	@$(RUN) -m lab start "$$arg_STACK"

stop: $(VENV)/installed ## Stop all processes of the lab; its state stays
	@$(RUN) -m lab stop

down: $(VENV)/installed ## Stop the lab and delete its state, or the cluster of STACK alone; built tools stay
	@$(RUN) -m lab down $(GIVEN)

status: $(VENV)/installed ## What runs where and how to reach it
	@$(RUN) -m lab status

kubeconfig: $(VENV)/installed ## Print the path of STACK's kubeconfig
	@$(RUN) -m lab kubeconfig "$$arg_STACK"

env: $(VENV)/installed ## Print settings for your shell, to be evaluated by it, with STACK as the current stack
	@$(RUN) -m lab env $(GIVEN)

logs: $(VENV)/installed ## List logs, or show those of NAME
	@$(RUN) -m lab logs $(call option,,NAME)

tools: $(VENV)/installed ## Build all tools, those of all tests included
	@$(RUN) -m lab.build test-all

test: $(VENV)/installed lint-fast ## Check the sources, then run the tests that every change has to pass, with real tools
	@$(RUN) -m lab.build test
	@$(call pytest,$(SIDE_BY_SIDE))

test-all: $(VENV)/installed lint ## The same with the exhaustive tests: all requests under all engines, upgrades from older releases
	@$(RUN) -m lab.build test-all
	@$(call pytest,$(SIDE_BY_SIDE) --all)

test-unit: $(VENV)/installed ## Run the tests that need nothing but Python
	@$(call pytest,$(SIDE_BY_SIDE) tests/unit)

goldens: $(VENV)/installed ## Write the golden files of the tests, to read their difference
	@GOLDEN=write $(RUN) -m pytest -q tests/unit -m golden

lint: lint-fast ## Check the Python and Go sources and the workflows
	@$(RUN) -m lab.vet

# All of it that compiles nothing.
lint-fast: $(VENV)/installed
	@$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo --no-cache
	@test -z "$$(gofmt -l lab/tools)" || { gofmt -l lab/tools; exit 1; }
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-actions .github/actions/*/*
	@$(VENV)/bin/zizmor --offline --no-progress --quiet .github

schemas: $(VENV)/installed ## Write the JSON Schemas and the reference from the models
	@$(RUN) -m reference.schemas
	@$(RUN) -m reference.pages

update-releases: $(VENV)/installed ## Pin the newest supported releases of Flux and Kyverno in STACK, or in all stacks, and print a summary
	@$(RUN) -m operations.release_update $(if $(STACK_GIVEN),--stack $(GIVEN)) $(call option,--flux-index,FLUX_INDEX) \
		$(call option,--kyverno-index,KYVERNO_INDEX)

tenant: $(VENV)/installed ## Onboard NEW=… with REPO=…, or SUSPEND, RESUME, MOVE, MOVED or OFFBOARD=…, in the files of STACK (or STACK=a,b), and preview
	@test -n "$$arg_NEW$$arg_SUSPEND$$arg_RESUME$$arg_MOVE$$arg_MOVED$$arg_OFFBOARD" || { echo "error: no tenant is named" >&2; \
		echo "remedy: make tenant NEW=…, SUSPEND=…, RESUME=…, MOVE=…, MOVED=… or OFFBOARD=…" >&2; exit 1; }
	@$(IN_STACK) $(RUN) -m operations.tenant $(call option,new,NEW) \
		$(call option,suspend,SUSPEND) $(call option,resume,RESUME) $(call option,move,MOVE) $(call option,moved,MOVED) \
		$(call option,offboard,OFFBOARD) $(call option,--age,AGE) $(if $(filter none,$(BACKUP)),--no-backup) \
		$(call each,--stack,STACK) $(call option,--repo,REPO) $(call option,--namespace,NAMESPACE) \
		$(call option,--github,GITHUB) $(call option,--branch,BRANCH) $(call option,--folder,FOLDER) \
		$(call option,--source,SOURCE) $(call option,--sync,SYNC)

tenants: $(VENV)/installed ## Show all tenants of all stacks (or STACK=…); OUTPUT=json or html, POLICIES=none without dry runs, EXIT_CODE=1
	@$(IN_STACK) $(RUN) -m operations.tenants --output "$$arg_OUTPUT" \
		$(if $(GIVEN),$(call each,--stack,STACK)) $(if $(filter none,$(POLICIES)),--no-policies) \
		$(if $(EXIT_CODE),--exit-code)

deploy-key: $(VENV)/installed ## Make a key for the repository of TENANT (or PLATFORM=1), stored encrypted in STACK
	@$(IN_STACK) $(RUN) -m operations.deploy_key --stack "$$arg_STACK" $(if $(PLATFORM),--platform) $(call option,,TENANT)

sops-key: $(VENV)/installed ## Make a key that decrypts for TENANT (or PLATFORM=1) in STACK; WITHDRAW takes one out
	@$(IN_STACK) $(RUN) -m operations.sops_key --stack "$$arg_STACK" $(if $(PLATFORM),--platform) \
		$(if $(OPENPGP),--openpgp) $(if $(POST_QUANTUM),--post-quantum) $(call option,--withdraw,WITHDRAW) \
		$(call option,--repo,REPO) $(call option,,TENANT)

sops-config: $(VENV)/installed ## Print the .sops.yaml for the repository of TENANT (or PLATFORM=1), for all stacks
	@$(RUN) -m operations.sops_config $(if $(PLATFORM),--platform) $(call option,,TENANT)

policy-report: $(VENV)/installed ## Show what the policies of STACK would refuse of what runs; OUTPUT=json for programs, EXIT_CODE=1 to fail on findings
	@$(IN_STACK) $(RUN) -m operations.policy_report --stack "$$arg_STACK" --output "$$arg_OUTPUT" \
		$(if $(EXIT_CODE),--exit-code)

drift: $(VENV)/installed ## Show what in the cluster differs from STACK, by whom and since when; OUTPUT=json, EXIT_CODE=1 to fail on differences
	@$(IN_STACK) $(RUN) -m operations.drift --stack "$$arg_STACK" --output "$$arg_OUTPUT" \
		$(if $(EXIT_CODE),--exit-code)

repair: $(VENV)/installed ## Restore what differs from STACK in the cluster; the next update creates what is missing
	@$(IN_STACK) $(RUN) -m operations.repair --stack "$$arg_STACK"

previewer-role: $(VENV)/installed ## Print the ClusterRole of STACK's previewers and its binding, for a cluster that has no Flux yet
	@$(RUN) -m operations.previewer_role --stack "$$arg_STACK"

isolation: $(VENV)/installed ## Try what TENANT (or each of STACK's) may try, and show what refuses it and what is not as intended; OUTPUT=json, junit or html
	@$(IN_STACK) $(RUN) -m isolation --stack "$$arg_STACK" --output "$$arg_OUTPUT" \
		$(call option,--tenant,TENANT) $(if $(LIVE),--live) $(call option,--file,FILE) $(call each,--without,WITHOUT)

apply: $(VENV)/installed ## Bring STACK up with the `pulumi` at hand, if it would apply what was APPROVED: a digest, or a digest.json
	@test -n "$$FLUX_TENANCY_APPROVED" || { echo "error: nothing is approved" >&2; \
		echo "remedy: make apply STACK=$$arg_STACK APPROVED=<digest of make diff>" >&2; exit 1; }
	@$(IN_STACK) $(RUN) -m operations.repair --stack "$$arg_STACK"
	@$(IN_STACK) pulumi up --yes --skip-preview --non-interactive --stack "$$arg_STACK"

preview: $(VENV)/installed ## Preview STACK in its cluster with the `pulumi` at hand
	@$(IN_STACK) pulumi preview --diff --non-interactive --stack "$$arg_STACK"

bundles: $(VENV)/installed ## Provide the releases and host keys of the lab, if a stack file names them
	@$(RUN) -m lab bundles

stacks: $(VENV)/installed ## List the stacks as outputs of a workflow's step; the variable STACKS chooses some
	@$(RUN) -m review.commands.stacks $(call option,--stacks,STACKS)

comment: $(VENV)/installed ## Post the report of workflow run RUN_ID, or FILE for PULL_REQUEST, as the one comment of the pull request
	@$(RUN) -m review.commands.comment $(call option,--run,RUN_ID) $(call option,--pull-request,PULL_REQUEST) \
		$(call option,--file,FILE)

approved: $(VENV)/installed ## Write what was approved by merging COMMIT to OUT, one digest.json for each stack
	@$(RUN) -m review.commands.approved $(call option,--commit,COMMIT) --out "$$arg_OUT"

drift-issue: $(VENV)/installed ## Keep one issue about what `make drift` has found in workflow run RUN_ID
	@$(RUN) -m review.commands.drift_issue $(call option,--run,RUN_ID) $(call option,--stacks,STACKS)

release-pull-request: $(VENV)/installed ## Propose the changed stack files as a pull request, with FILE as its description
	@$(RUN) -m review.commands.release_pull_request --file "$$arg_FILE"

renders: $(VENV)/installed ## Do what `render` does for every stack
	@export $(ADMISSION); stacks=$$($(RUN) -m review.commands.stacks --names $(call option,--stacks,STACKS)) && for stack in $$stacks; do \
		$(RUN) -m review.commands.render --stack "$$stack" --out "$$arg_OUT" || exit; done

render: $(VENV)/installed ## Write what STACK would apply to OUT, without a cluster or a passphrase
	@$(ADMISSION) $(RUN) -m review.commands.render --stack "$$arg_STACK" --out "$$arg_OUT"

access: $(VENV)/installed ## Show who may do what by STACK, or by TENANT and in its namespaces, without a cluster; OUTPUT=json for programs
	@$(RUN) -m review.commands.access --stack "$$arg_STACK" --output "$$arg_OUTPUT" $(call option,--tenant,TENANT)

policy: $(VENV)/installed ## Hold STACK (or all stacks) to the rules for reviewers, without a cluster; OUTPUT=json for programs
	@$(RUN) -m review.commands.policy $(if $(STACK_GIVEN),--stack $(GIVEN)) $(if $(BASE_GIVEN),--base "$$arg_BASE") \
		$(if $(filter json,$(OUTPUT)),--output json)

diff: $(VENV)/installed ## Show what the working tree changes in STACK (or all stacks) since it left BASE; OUTPUT=markdown or json, FILE=… to write it
	@$(ADMISSION) $(RUN) -m review.commands.diff --base "$$arg_BASE" $(if $(STACK_GIVEN),--stack $(GIVEN)) $(if $(filter markdown json,$(OUTPUT)),--output "$$arg_OUTPUT") \
		$(call option,--file,FILE)

bench: $(VENV)/installed ## Measure against kubectl, what admission adds, and neighbours; CONTEST=kubectl, admission or neighbours alone
	@$(RUN) -m bench $(call option,,CONTEST)

lock: $(VENV)/installed ## Lock the Python packages anew
	@for name in requirements requirements-dev; do \
		$(VENV)/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url \
			--no-emit-find-links --no-emit-trusted-host --output-file=$$name.txt $$name.in || exit 1; done
