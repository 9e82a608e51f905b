# Everything from a fresh clone with python3 (>= 3.11) and make. uv is used when it is installed, pip otherwise.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run-lock
DEV := $(VENV)/.dev-lock

.PHONY: help
help:  ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: setup
setup: $(RUN)  ## .venv with pysched and what it needs to run

.PHONY: demo
demo: $(RUN)  ## a nightly chain on real input, from start to report
	$(BIN)/pysched demo --folder demo-state

.PHONY: check
check: $(DEV)  ## what CI checks without running anything: format, lint, types, arrows, spelling, links
	PYTHON=$(BIN)/python scripts/check

.PHONY: test
test: $(DEV)  ## all tests but the slow ones
	$(BIN)/python scripts/test.py

.PHONY: test-slow
test-slow: $(DEV)  ## the slow ones: every clock change of every zone
	$(BIN)/python -m pytest -m slow --timeout 7200

.PHONY: soak
soak: $(DEV)  ## the crash test over 5,000 attempts
	$(BIN)/python -m pytest tests/faults/test_crashes.py --timeout 36000 --soak

.PHONY: soak-cluster
soak-cluster: $(DEV)  ## many schedulers on one PostgreSQL under faults, for an hour; its report in soak-cluster/
	$(BIN)/python -m pytest tests/faults/cluster/test_storm.py -m slow --timeout 7200 --soak -s

.PHONY: bench
bench: $(DEV)  ## every question of bench/, a JSON line each
	$(BIN)/python -m bench

.PHONY: screenshots
screenshots: $(DEV)  ## a picture of every page, wide and narrow, light and dark, in screenshots/
	PYTHONPATH=src $(BIN)/python -m tests.browser.screenshots screenshots

.PHONY: lock
lock:  ## resolve requirements/*.lock anew (needs uv)
	scripts/lock

.PHONY: clean
clean:  ## remove what was made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache demo-state screenshots soak-cluster

$(RUN): requirements/run.lock pyproject.toml
	PYTHON=$(PYTHON) scripts/bootstrap $(VENV) requirements/run.lock
	@touch $@

$(DEV): requirements/dev.lock requirements/run.lock pyproject.toml
	PYTHON=$(PYTHON) scripts/bootstrap $(VENV) requirements/dev.lock
	@touch $(RUN) $@
