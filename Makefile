SHELL := /bin/bash
PY := .venv/bin/python
.DEFAULT_GOAL := help

help: ## Show what there is to run
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/.ready: requirements/dev.txt pyproject.toml
	python3 -m venv .venv
	.venv/bin/pip install -q -r requirements/dev.txt
	.venv/bin/pip install -q --no-deps -e .
	@touch $@

setup: .venv/.ready ## Make .venv with everything, pinned

fmt: .venv/.ready ## Format the code
	.venv/bin/ruff format src tests
	.venv/bin/ruff check --fix -q src tests

check: .venv/.ready ## Formatting, lint, types, import contracts, tidy
	.venv/bin/ruff format --check src tests
	.venv/bin/ruff check src tests
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) -m pytest tests/architecture

test: .venv/.ready ## All tests that need no other program but Java
	$(PY) -m pytest

.PHONY: help setup fmt check test
