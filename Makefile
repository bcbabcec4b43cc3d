# Two commands for a fresh machine: `make demo` and `make test`. Needs Python >= 3.11 with venv, make, and the
# package registries once; everything else is built into .venv from requirements.lock, hash by hash.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
# The order of the suite in `make verify`: another one each time, and the same one again with SEED=… .
SEED   ?= $(shell date +%s)

.DEFAULT_GOAL := help
.PHONY: help demo test check format tidy lint types generated arrows callpath trace verify models crashes rules bench lock clean

help:           ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(STAMP)  ## walk the whole path in a temporary home, printing what each step shows
	$(PY) -m demo

test: $(STAMP)  ## the full suite, on two workers
	$(PY) -m pytest -q -n 2

check: format lint types generated arrows callpath trace  ## everything that needs no run of the suite

format: $(STAMP)  ## refuse what the formatter would change
	$(VENV)/bin/ruff format --check .

tidy: $(STAMP)  ## let the formatter and the import order change it
	$(VENV)/bin/ruff check --select I --fix .
	$(VENV)/bin/ruff format .

lint: $(STAMP)
	$(VENV)/bin/ruff check .

types: $(STAMP)
	$(VENV)/bin/mypy

generated: $(STAMP)  ## the constants equal spec/registry.json
	$(PY) tools/generate.py --check

arrows: $(STAMP)  ## which room imports which
	$(PY) -m tools.arrows

callpath: $(STAMP)  ## what a call from the terminal may import
	$(PY) -m tools.callpath

trace: $(STAMP)  ## clause -> requirement -> evidence
	$(PY) -m tools.trace

verify: $(STAMP)  ## the long sweeps: any order, larger Hypothesis profile, models, contention, mutated lines, load
	$(PY) -m pytest -q -n 2 --random-order-bucket=global --random-order-seed=$(SEED)
	$(PY) -m pytest -q -n 2 -m hypothesis --hypothesis-profile=verify
	$(PY) -m models
	$(PY) -m tools.contention
	$(PY) -m tools.mutate_lines 10000000 --workers 2
	$(PY) -m tools.load 2000

crashes: $(STAMP)  ## kill and fail the real verbs at every point, and look at what is left
	$(PY) -m crashes
	$(PY) -m crashes.loops

rules: $(STAMP)  ## break each rule where production names it; the tests that name it must see it
	$(PY) -m tools.break_rules

models: $(STAMP)  ## every model: enumerated, in lockstep with production, its mutants
	$(PY) -m models

bench: $(STAMP)  ## ratios against baselines of the same run: a table and build/bench.json
	$(PY) -m bench

# Hashes of every file of every pinned release, and no registry address: pip asks whatever it is configured to ask.
lock:           ## resolve pyproject.toml again into requirements.lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install -q pip-tools
	build/lock/bin/pip-compile -q --extra dev --generate-hashes --allow-unsafe --strip-extras --no-config \
	    --no-emit-options --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	    --output-file requirements.lock pyproject.toml

clean:
	rm -rf build $(VENV)

# The stamp is younger than the lock and the project file exactly when .venv holds what they say.
$(STAMP): requirements.lock pyproject.toml
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
