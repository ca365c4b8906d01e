# Needs Python 3.11 and make; everything else comes from the package registry into .venv.
# Nothing outside this directory is written, so an empty or unwritable HOME will do.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
TORCH ?=
PYTEST_ARGS ?=
BENCH_ARGS ?=

export UV_CACHE_DIR ?= $(CURDIR)/.cache/uv
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_NO_PROGRESS := 1

.PHONY: help setup check test debian e2e demo bench docs clean
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.ready  ## the environment in .venv, with the three packages installed editable

# Stamps, so that a second call costs nothing and an edit of a pyproject.toml is noticed.
$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet uv==0.13.8

$(VENV)/.ready: $(UV) pyproject.toml airflow_provider/pyproject.toml prefect_collection/pyproject.toml
	$(UV) pip install --quiet --python $(PY) --group dev \
		--editable . --editable ./airflow_provider --editable ./prefect_collection
	@touch $@

# By pip, which also looks where the machine's own pip configuration says: that is how a site
# offers a CPU-only build, which is a tenth of the size of the one on the public registry.
$(VENV)/.torch: $(VENV)/.ready
	$(PY) -m pip install --quiet torch==2.13.0
	@touch $@

check: $(VENV)/.ready  ## style, types, rules and generated pages
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) -m gpualert_common rules check
	$(PY) docs/generate.py --check

test: $(VENV)/.ready  ## the tests that any user on any machine can run
	$(PY) -m pytest $(PYTEST_ARGS)

debian:
	tests/faults/install-debian-packages.sh

e2e: debian $(VENV)/.torch  ## what needs root, Debian packages and PyTorch (as root; installs them)
	$(PY) examples/demo.py --torch
	$(PY) -m pytest -m e2e $(PYTEST_ARGS)

demo: $(VENV)/.ready $(if $(TORCH),$(VENV)/.torch)  ## four trainings and their verdicts (TORCH=1: with PyTorch too)
	$(PY) examples/demo.py $(if $(TORCH),--torch)

bench: $(VENV)/.ready  ## the speed of ours beside its limit and the paper's tool
	$(PY) -m tests.benchmarks --json .bench/figures.json $(BENCH_ARGS)

docs: $(VENV)/.ready  ## regenerate the pages that are made from rules and code
	$(PY) docs/generate.py

clean:  ## remove the environment, caches and the demo's records
	rm -rf $(VENV) .bench .cache .demo-state .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
