# Needs Python 3.11, bash and make; everything else comes from the package registry into .venv.
# Nothing is left outside this directory, so an empty or unwritable HOME will do.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
TORCH ?=
PYTEST_ARGS ?=
BENCH_ARGS ?=
CORPUS_ARGS ?=

export UV_CACHE_DIR ?= $(CURDIR)/.cache/uv
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_NO_PROGRESS := 1
# pip asks rustc for its version, and rustup then makes a directory in an empty HOME.
export RUSTUP_HOME ?= $(CURDIR)/.cache/rustup
# The engines begin a process for everything, and each would compile all of the engine again.
export UV_COMPILE_BYTECODE := 1
unexport PYTHONDONTWRITEBYTECODE

LANES := $(foreach target,test e2e nightly,$(addprefix $(target)-,core airflow prefect)) test-runs test-rest \
	test-pages e2e-pages test-jobs e2e-jobs
FAULT_LANES := fault-tables-airflow fault-tables-prefect
.PHONY: help setup check test e2e nightly fault-tables test-upstream matrix scenarios simulation debian demo bench corpus docs site screenshots clean $(LANES) $(FAULT_LANES)
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.ready  ## the environment in .venv, with the core installed editable

# Stamps, so that a second call costs nothing and an edit of a pyproject.toml is noticed.
$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.11")'
	@echo "[setup] the core and its tools, into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet uv==0.13.8

$(VENV)/.ready: $(UV) pyproject.toml
	$(UV) pip install --quiet --python $(PY) --group dev --editable .
	@touch $@

# Pictures on the engines' pages, and a browser to look at them.
BROWSER := vl-convert-python==1.9.0.post1 selenium==4.51.0 axe-playwright-python==0.1.8

# Airflow and Prefect cannot be installed together, nor with the tools: each has its own environment.
# Celery 5.7 lacks a name that Airflow's provider for it imports.
AIRFLOW := .venv-airflow
$(AIRFLOW)/.ready: $(UV) pyproject.toml airflow_provider/pyproject.toml
	@echo "[setup] Airflow, into $(AIRFLOW): half a minute, or minutes where nothing is cached"
	$(UV) venv --quiet --clear --python $(PY) $(AIRFLOW)
	$(UV) pip install --quiet --python $(AIRFLOW)/bin/python --editable . --editable ./airflow_provider \
		apache-airflow==3.3.2 apache-airflow-providers-standard==1.21.0 \
		apache-airflow-providers-celery==3.26.0 celery==5.6.3 apache-airflow-providers-postgres==7.1.1 \
		apprise==2.2.0 numpy==2.4.6 pytest==9.2.0 $(BROWSER)
	@touch $@

# prefect-shell is compared with ours in the fault matrix.
PREFECT := .venv-prefect
$(PREFECT)/.ready: $(UV) pyproject.toml prefect_collection/pyproject.toml
	@echo "[setup] Prefect, into $(PREFECT): half a minute, or minutes where nothing is cached"
	$(UV) venv --quiet --clear --python $(PY) $(PREFECT)
	$(UV) pip install --quiet --python $(PREFECT)/bin/python --editable . --editable ./prefect_collection \
		prefect==3.8.8 prefect-shell==0.3.7 numpy==2.4.6 pytest==9.2.0 $(BROWSER)
	@touch $@
# What imports Prefect is checked with it; named one by one, since pyproject.toml excludes them.
IN_PREFECT = $(wildcard tests/benchmarks/prefect_*.py examples/prefect_*.py \
	prefect_collection/prefect_gpualert/*.py tests/prefect/*.py tests/faults/prefect/*.py \
	tests/upstream/prefect/*.py)

# What imports Airflow is checked with it.
IN_AIRFLOW = examples/airflow_dag.py \
	$(wildcard tests/benchmarks/airflow_*.py airflow_provider/*/*.py airflow_provider/*/*/*.py tests/airflow/*.py \
	tests/airflow/page_dags/*.py tests/faults/airflow/*.py tests/faults/airflow/dags/*.py \
	tests/upstream/airflow/*.py tests/upstream/airflow/tests_common/*.py tests/upstream/airflow/tests_common/*/*.py)

# By pip, which also looks where the machine's own pip configuration says: that is how a site
# offers a CPU-only build, which is a tenth of the size of the one on the public registry.
$(VENV)/.torch: $(VENV)/.ready
	$(PY) -m pip install --quiet torch==2.13.0
	@touch $@

# What the trainings need that the end-to-end tests run.
FRAMEWORKS := .venv-frameworks
$(FRAMEWORKS)/.ready: tests/scenarios/frameworks/requirements.txt $(UV)
	$(PYTHON) -m venv --clear $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet torch==2.13.0
	$(UV) pip install --quiet --python $(FRAMEWORKS)/bin/python --requirement $<
	@touch $@

# A server of S3 for the tests of the job directory.  Its packages are not ours, so it has its own
# environment.
STORES := .venv-stores
$(STORES)/.ready: $(UV) Makefile
	@echo "[setup] moto, a server of S3, into $(STORES)"
	$(UV) venv --quiet --clear --python $(PY) $(STORES)
	$(UV) pip install --quiet --python $(STORES)/bin/python 'moto[s3]==5.2.5' flask==3.1.3 flask-cors==6.0.5
	@touch $@

# In its own environment, since its packages are not ours to audit.
AUDIT := .venv-audit
$(AUDIT)/.ready: $(UV) Makefile
	@echo "[setup] pip-audit, into $(AUDIT)"
	$(UV) venv --quiet --clear --python $(PY) $(AUDIT)
	$(UV) pip install --quiet --python $(AUDIT)/bin/python pip-audit==2.10.1
	@touch $@

# What builds the site of docs/.  Its packages need others than ours, so it has its own environment.
SITE := .venv-site
$(SITE)/.ready: $(UV) Makefile
	@echo "[setup] MkDocs, into $(SITE)"
	$(UV) venv --quiet --clear --python $(PY) $(SITE)
	$(UV) pip install --quiet --python $(SITE)/bin/python mkdocs==1.6.1 mkdocs-material==9.8.2
	@touch $@

check: $(VENV)/.ready $(AUDIT)/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready $(SITE)/.ready  ## style, types, names, limits, rules, pages, their site and dependencies
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) -m mypy --python-executable $(AIRFLOW)/bin/python $(IN_AIRFLOW)
	$(PY) -m mypy --python-executable $(PREFECT)/bin/python $(IN_PREFECT)
	$(PY) -m tests.structure
	$(PY) -m gpualert_common rules check
	$(PY) docs/generate.py --check
	+$(MAKE) --no-print-directory site
	$(PY) -m tests.structure.audit $(AUDIT)/bin/pip-audit

# Each test has one target: `e2e` and `nightly` by the markers of that name, `test` without a marker.
# A target's lanes run at once, since tests mostly wait.  A lane is one pytest (tests/lane.py): $(1) is
# its environment, $(2) its tests; each line of its output starts with its name.  With AGAIN=1, as in CI,
# the tests that failed run once more at the end of the lane and must then pass; .ci/run reports them.
# The folders are spread so that the lanes end at about the same time.
AGAIN ?=
FAILURES := .pytest_cache/failures
pytest = $(1) -m pytest -o cache_dir=.pytest_cache/$@ $(2) $(if $(AGAIN),--failures-to=$(FAILURES)) $(PYTEST_ARGS)
lane = $(PY) -m tests.lane $@ $(if $(AGAIN),--again) -- $(pytest)
run_lanes = $(MAKE) --no-print-directory --jobs $(words $(1)) $(1)

IN_CORE := $(filter-out %/airflow %/prefect,$(patsubst %/,%,$(sort $(dir $(wildcard tests/*/*.py)))))
CORE := $(addprefix tests/,cli core history launch record settings supervise)
RUNS := $(addprefix tests/,benchmarks diagnose guardian scenarios)
PAGES := $(addprefix tests/,charts pages site web)
JOBS := $(addprefix tests/,agent exporter job_store jobs kineto profiles simulation slurm traces)
marker = $(patsubst %,-m %,$(filter e2e nightly,$(subst -, ,$@)))

test-core test-runs test-rest test-pages test-jobs e2e-core e2e-rest e2e-pages e2e-jobs nightly-core: $(VENV)/.ready
e2e-pages: $(SITE)/.ready
e2e-jobs nightly-core: $(STORES)/.ready
test-airflow e2e-airflow nightly-airflow: $(AIRFLOW)/.ready
test-prefect e2e-prefect nightly-prefect: $(PREFECT)/.ready

test-core e2e-core:
	$(call lane,$(PY),$(marker) $(CORE))
test-runs:
	$(call lane,$(PY),$(RUNS))
test-rest:
	$(call lane,$(PY),$(filter-out $(CORE) $(RUNS) $(PAGES) $(JOBS),$(IN_CORE)))
test-pages e2e-pages:
	$(call lane,$(PY),$(marker) $(PAGES))
test-jobs e2e-jobs:
	$(call lane,$(PY),$(marker) $(JOBS))
e2e-rest:
	$(call lane,$(PY),$(marker) $(filter-out $(CORE) $(PAGES) $(JOBS),$(IN_CORE)))
nightly-core:
	$(call lane,$(PY),$(marker) $(IN_CORE))
test-airflow e2e-airflow nightly-airflow:
	$(call lane,$(AIRFLOW)/bin/python,$(marker) tests/airflow tests/faults/airflow)
test-prefect e2e-prefect nightly-prefect:
	$(call lane,$(PREFECT)/bin/python,$(marker) tests/prefect tests/faults/prefect)

test: $(VENV)/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready  ## the tests that any user on any machine can run
	+$(call run_lanes,test-airflow test-prefect test-core test-runs test-rest test-pages test-jobs)

e2e: debian $(VENV)/.torch $(SITE)/.ready $(STORES)/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready  ## what needs root, Debian packages and PyTorch (as root; installs them)
	+$(call run_lanes,e2e-airflow e2e-prefect e2e-core e2e-rest e2e-pages e2e-jobs)

nightly: debian $(VENV)/.torch $(STORES)/.ready $(FRAMEWORKS)/.ready .venv-corpus/jax/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready  ## what CI has no time for: large frameworks, minutes of real time, all of Celery (as root)
	+$(call run_lanes,nightly-airflow nightly-prefect nightly-core)
	$(PY) -m pytest -m hypothesis --hypothesis-profile=random $(IN_CORE)
	$(PY) -m tests.upstream --airflow $(AIRFLOW)/bin/python --prefect $(PREFECT)/bin/python --class own --class broken
	+$(MAKE) --no-print-directory scenarios
	+$(MAKE) --no-print-directory simulation
	+$(MAKE) --no-print-directory corpus
	+$(MAKE) --no-print-directory matrix
	+$(MAKE) --no-print-directory bench BENCH_ARGS=--compare

# All rows again, with the engines' own operators as controls; their results are not asserted.
fault-tables: debian $(VENV)/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready  ## docs/faults.md from faults done to our operators and the engines' own (as root)
	+$(call run_lanes,$(FAULT_LANES))
	$(PY) -m tests.faults.page
$(FAULT_LANES): fault-tables-%:
	$(call lane,.venv-$*/bin/python,--controls -m "e2e or nightly" tests/faults/$*/test_fault_matrix.py)

test-upstream: $(VENV)/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready  ## the tests of the engines' own operators, with ours in their place
	$(PY) -m tests.upstream --airflow $(AIRFLOW)/bin/python --prefect $(PREFECT)/bin/python --class gpualert

# Simulated variants of each family, and variants of each scenario that also runs with a real child.
VARIANTS ?= 200
REAL ?= 2
scenarios: $(VENV)/.ready  ## docs/scenarios.md from variants of the scenarios of each family (as root; nightly)
	nice $(PY) -m tests.scenarios --variants $(VARIANTS) --real $(REAL) --page
	nice $(PY) -m tests.scenarios.calibration --page

# Jobs of 6,000 ranks in virtual time, with each fault and disturbance.
simulation: $(VENV)/.ready  ## docs/job-scale.md from simulated jobs of 6,000 ranks (an hour on two cores; nightly)
	nice $(PY) -m tests.simulation --variants $(VARIANTS) --processes $(or $(shell nproc),1) --curve --page

# A row is named as `python -m tests.matrix --list` prints it.  It takes ten minutes on two cores.
ROWS ?=
matrix: $(VENV)/.ready  ## docs/versions.md from the tests on other versions of Airflow, Prefect and Python (nightly)
	$(PY) -m tests.matrix --uv $(abspath $(UV)) $(ROWS)

debian:
	tests/faults/install-debian-packages.sh

demo: $(VENV)/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready $(if $(TORCH),$(VENV)/.torch)  ## trainings at a shell, in Airflow and in Prefect, and their verdicts (TORCH=1: with PyTorch too)
	$(PY) examples/demo.py --airflow $(AIRFLOW)/bin/python --prefect $(PREFECT)/bin/python \
		$(if $(TORCH),--torch)

bench: debian $(VENV)/.ready $(AIRFLOW)/.ready $(PREFECT)/.ready  ## speed of GPUAlert and its engines' tasks, with limits and the paper's tool (as root)
	$(PY) -m tests.benchmarks --json .bench/figures.json $(BENCH_ARGS)

# What the programs of the corpus need: four environments that do not fit one another.
CORPUS := .venv-corpus
CORPUS_ENVIRONMENTS := $(patsubst corpus/produce/environments/%.txt,$(CORPUS)/%/.ready,$(wildcard corpus/produce/environments/*.txt))
$(CORPUS)/%/.ready: corpus/produce/environments/%.txt $(UV)
	$(PYTHON) -m venv --clear $(CORPUS)/$*
	grep -q '^torch==' $< && $(CORPUS)/$*/bin/python -m pip install --quiet torch==2.13.0 || ! grep -q '^torch==' $<
	$(UV) pip install --quiet --python $(CORPUS)/$*/bin/python --requirement $<
	@touch $@

corpus: $(VENV)/.ready $(CORPUS_ENVIRONMENTS)  ## run the corpus's programs again and report differences (some as root)
	$(PY) -m corpus compose --check
	env --default-signal=INT,QUIT $(PY) -m corpus produce --check $(CORPUS_ARGS)

SITE_SOURCE := .cache/site
site: $(VENV)/.ready $(SITE)/.ready  ## the site of docs/, into site/: no dead link, no page without a place, searchable without a server
	$(PY) -m docs.site $(SITE_SOURCE)
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict --config-file $(SITE_SOURCE)/mkdocs.yml --site-dir $(CURDIR)/site

screenshots: debian $(VENV)/.ready $(PREFECT)/.ready  ## docs/images from real runs, the report, the web pages and Prefect (as root)
	$(PY) -m docs.screenshots
	$(PREFECT)/bin/python -m tests.prefect.screenshots docs/images

docs: $(VENV)/.ready  ## regenerate the pages that are made from rules and code
	$(PY) docs/generate.py

clean:  ## remove the environment, caches and the demo's records
	rm -rf $(VENV) $(AUDIT) $(AIRFLOW) $(PREFECT) $(SITE) $(STORES) $(FRAMEWORKS) $(CORPUS) .venv-matrix .bench .cache .demo-state .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
