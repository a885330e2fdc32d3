SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
ENGINE ?= spark
SLICE ?= full
JUDGED ?= tests/peers
SIZE ?= M
ONLY ?=
REPEATS ?= 0
OF ?=
MINUTES ?= 2
PROCESSES ?= 4
PROCESSORS ?= 2
ON ?= local,mor,fenced,s3
CODE := src tests tools benchmarks
.DEFAULT_GOAL := help
# What a process compiles, the next one reads: tests start many.
export PYTHONDONTWRITEBYTECODE :=
# Java is looked for once, by whoever needs it; the local engine needs none.
JAVA_FINDER := tools/find_java.sh

help: ## Show what there is to run
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/.ready: requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install -q --disable-pip-version-check -r requirements/dev.txt
	$(PY) -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

setup: .venv/.ready ## Make .venv with everything, pinned

fmt: .venv/.ready ## Format the code
	.venv/bin/ruff format $(CODE)
	.venv/bin/ruff check --fix -q $(CODE)

check: .venv/.ready ## Formatting, lint, types, import contracts, tidy
	.venv/bin/ruff format --check $(CODE)
	.venv/bin/ruff check $(CODE)
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) -m pytest tests/architecture

test: .venv/.ready ## The everyday tests, each promise among them: five to seven minutes on two cores, with Java for those on Spark
	@eval "$$($(JAVA_FINDER))"; PYHUDI_TESTS=everyday $(PY) -m pytest -n $(PROCESSORS) --ignore tests/architecture

test-all: .venv/.ready ## All tests that need no other program but Java: those of make test at length, on versions 6 and 8, on an S3 emulator
	@eval "$$($(JAVA_FINDER))"; $(PY) -m pytest -n $(PROCESSORS) --ignore tests/architecture

test-rest: .venv/.ready ## What make test-all runs beyond make test, of dear tests some, in turns: for CI, which runs both
	@eval "$$($(JAVA_FINDER))"; PYHUDI_TESTS=rest $(PY) -m pytest -n $(PROCESSORS) --ignore tests/architecture

costs: .venv/.ready ## Measure what tests cost, on a quiet machine, for the choice of make test (OF=tests/spark)
	@eval "$$($(JAVA_FINDER))"; $(PY) -m pytest $(OF) --ignore tests/architecture --ignore tests/peers --junitxml build/costs.xml; $(PY) -m tests.costs build/costs.xml

test-spark: .venv/.ready ## The tests that both engines share, all of them on Spark, and a cluster that loses executors (a few minutes)
	@eval "$$($(JAVA_FINDER))"; PYHUDI_TEST_ENGINE=spark $(PY) -m pytest tests/actions tests/commit tests/services tests/tasks tests/queries tests/index tests/lives/test_engines.py tests/spark/test_duplicates.py tests/spark/test_hostile_arguments.py

demo: .venv/.ready ## Load, update, read and follow a real table (ENGINE=spark|local)
	@if [ "$(ENGINE)" = spark ]; then eval "$$($(JAVA_FINDER) --install)"; fi; $(PY) -m pyhudi.cli.main demo --engine $(ENGINE)

lanes: .venv/.ready ## Try the built wheel with the lowest and newest versions it takes, on pyspark 3.5, 4.0, 4.1 and the newest, and on Sail
	@eval "$$($(JAVA_FINDER))"; $(PY) tools/run_lanes.py

bench: .venv/.ready ## Measure against peers (ONLY=upsert_local SIZE=XS|S|M|L|XL REPEATS=5; see docs/benchmarks.md)
	@eval "$$($(JAVA_FINDER))"; $(PY) -m benchmarks --size $(SIZE) --only "$(ONLY)" --repeats $(REPEATS)

peers: .venv/.ready ## Be judged by Apache Hudi: it reads what we write, and we what it writes (SLICE=short|full|everything, PYHUDI_SEED=1)
	$(PY) tools/peers.py
	@eval "$$($(JAVA_FINDER))"; PYHUDI_PEERS=$(SLICE) $(PY) -m pytest $(JUDGED) -m peers --durations=5

locks: .venv/.ready ## Try the locks that other servers keep: a real ZooKeeper, from Debian's package
	@eval "$$($(JAVA_FINDER))"; $(PY) -m pytest tests/txn/locks -m services

simulate: .venv/.ready ## Explore schedules of concurrent writers (SCENARIO=crash SEED=7 SECONDS=20; see docs/simulation.md)
	$(PY) -m tests.simulation.explorer $(if $(SCENARIO),--scenario $(SCENARIO)) $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS))
	$(if $(SCENARIO),,PYHUDI_SIMULATE_ALL=1 $(PY) -m pytest tests/simulation --timeout 3600)

lives: .venv/.ready ## Live lives of tables beside a dictionary, and shrink what they find (SECONDS=60 SEED=7)
	$(PY) -m tests.lives $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS))

soak: .venv/.ready ## Let processes write, die, stand still and be judged (MINUTES=2 PROCESSES=4 SEED=7 ON=local,mor,fenced,s3)
	$(PY) -m tests.soak --minutes $(MINUTES) --processes $(PROCESSES) --on $(ON) $(if $(SEED),--seed $(SEED))

figures: .venv/.ready ## Count what docs/reliability.md shows, and write it there (SLICE=ci|full SEED=7 JOBS=soak,pairs; full takes an hour)
	$(PY) tools/figures.py $(SLICE) "$(SEED)" "$(JOBS)"

docs: .venv/.ready ## Write the reference of every name from its docstring to build/docs, and CHANGELOG.md from its fragments
	$(PY) tools/api_reference.py
	$(PY) tools/changelog.py

lock: .venv/.ready ## Resolve the package's dependencies anew, into uv.lock
	$(PY) -m pip install -q --disable-pip-version-check uv
	.venv/bin/uv lock --upgrade

keys: .venv/.ready ## Make known_keys.json and docs/options.md anew
	$(PY) tools/known_keys.py

clean: ## Remove what the other targets made
	rm -rf .venv .lanes .bench build dist demo-table demo-table-* spark-warehouse metastore_db .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup fmt check test test-all test-rest test-spark demo lanes bench peers locks simulate lives soak figures docs lock keys costs clean
