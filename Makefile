SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.10 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo $$p; break; }; done)
TORCH ?= torch==2.14.1

.PHONY: help demo test test-packaging test-light lint bench gpu-check fuzz fixtures golden docs clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1|/' | column -t -s '|'

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.10 or newer is needed: install it, or give its path as PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.light: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.light
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

$(VENV)/.torch: $(VENV)/.dev
	@$(BIN)/python -c 'import torch, triton' 2>/dev/null || $(BIN)/python -m pip install -q --disable-pip-version-check '$(TORCH)' || \
		{ echo "torch could not be installed ($(TORCH)): the tests marked 'torch' need it. 'make test-light' runs the others." >&2; exit 1; }
	@touch $@

demo: $(VENV)/.light  ## audit two real packages (installs no torch)
	@echo "\$$ kernelscope audit fixtures/layernorm.unbounded.pt2"
	@$(BIN)/kernelscope audit fixtures/layernorm.unbounded.pt2; test $$? -eq 1
	@echo
	@echo "\$$ kernelscope audit fixtures/layernorm.small.pt2"
	@$(BIN)/kernelscope audit fixtures/layernorm.small.pt2

test: $(VENV)/.torch  ## run all tests (installs torch)
	$(BIN)/python -m pytest -q

test-packaging: TORCH_VENV := .venv-torch
test-packaging:  ## test packaging and hook with another torch: make test-packaging TORCH=torch==2.8.0
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install -q --disable-pip-version-check -e '.[dev]' '$(TORCH)'
	$(TORCH_VENV)/bin/python -m pytest -q tests/packaging

test-light: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m 'not torch'

lint: $(VENV)/.dev  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## speed and memory against the floor
	$(BIN)/python -m tests.bench

gpu-check: $(VENV)/.torch  ## original and patched packages on this machine's GPU (skipped without one)
	$(BIN)/python -m tests.gpu_check

fuzz: $(VENV)/.dev  ## mutate packages, kernels and wrappers
	$(BIN)/python -m tests.fuzz

golden: $(VENV)/.dev  ## rewrite the expected reports in tests/golden
	$(BIN)/python -m pytest -q tests/report --golden

docs: $(VENV)/.dev  ## rewrite the generated pages in docs/
	$(BIN)/python -m tests.write_docs

fixtures: $(VENV)/.torch  ## capture fixtures/extra again (needs g++ and the CUDA headers, about 20 minutes)
	fixtures/capture/run $(BIN)/python fixtures/capture/capture.py fixtures/extra
	fixtures/capture/run $(BIN)/python fixtures/capture/capture.py --wrappers fixtures/extra

clean:  ## remove what the other targets made
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
