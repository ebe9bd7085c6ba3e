# Every command that a person or CI runs. `make` lists them; `make book` and `make test` need only Python 3.11 or newer and make.
#
#   PYTHON=python3.12 make book       another interpreter
#   make book TORCH_INDEX=            torch as pip finds it (with CUDA on Linux), not the CPU build
#   make test VENV=.venv-oldest OLDEST="numpy torch"     the oldest numpy and torch that pyproject.toml allows
#   make test VENV=.venv-newest NEWEST=1                 the newest release of everything

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
OUT ?= .

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
VERSIONS := $(if $(NEWEST),--newest) $(if $(OLDEST),--oldest $(OLDEST))
THIS_PYTHON := $(if $(filter file,$(origin PYTHON)),,--this-python)
SETUP = @$(PYTHON) tools/environment.py $(VENV) --torch-index "$(TORCH_INDEX)" $(THIS_PYTHON) $(VERSIONS) --extras

.DEFAULT_GOAL := help
.PHONY: help book serve test test-package notebooks check-notebooks lint format links retarget lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

book: ## build the site to _build/html, warnings as errors
	$(SETUP) book
	$(PY) tools/build_site.py $(OUT)

serve: book ## build the site and serve it on this machine
	$(PY) -m http.server --directory $(OUT)/_build/html --bind 127.0.0.1 8000

test: ## everything that must hold: package, doctests, notebooks, site, commands
	$(SETUP) book test lint
	$(PY) tools/check_notebooks.py $(NB)
	$(PY) -m pytest

test-package: ## the package alone: unit tests and doctests
	$(SETUP) book test
	$(PY) -m pytest -m "not site"

notebooks: ## execute notebooks in place; NB=02 takes those whose names start so
	$(SETUP) book test
	$(PY) tools/run_notebooks.py $(NB)

check-notebooks: ## run copies of the notebooks and compare every output with the stored one; NB=02 as above
	$(SETUP) book test
	$(PY) tools/check_notebooks.py $(NB) $(CHECK)

lint: ## ruff and codespell, notebooks too; zizmor and actionlint on the workflows
	$(SETUP) lint
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(BIN)/codespell

format: ## let ruff format and repair what it can
	$(SETUP) lint
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

lock: ## write constraints.txt anew; TORCH=2.14.0 moves torch
	$(PYTHON) tools/lock.py $(TORCH)

clean: ## remove what the commands made; the environment too
	rm -rf _build $(VENV) build sinpe.egg-info
