# Every target sets up what it needs by itself, and is quick when nothing has changed.
PYTHON ?= python3
PORT ?=
BIN := .venv/bin
READY := .venv/ready

.PHONY: help setup run test lint format bench clean
help: ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: $(READY) ## install everything into .venv

$(READY): pyproject.toml constraints.txt
	@echo "Setting up .venv (once; later starts are quick) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group dev
	@touch $@

run: $(READY) ## open the shop in the browser, on a free port or on PORT=8600
	@echo "Opening the shop (Ctrl-C closes it) ..."
	@$(BIN)/streamlit run app.py $(if $(PORT),--server.port=$(PORT))

test: $(READY) ## run all tests, a worker for each processor; the browser tests too where Chromium is found
	@echo "Running the tests ..."
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(READY) ## check style, types and shape
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/mypy && echo "Lint is clean."

format: $(READY) ## put the code in order
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

bench: $(READY) ## measure speed and memory, as ratios against a baseline in the same run
	@$(BIN)/python -m bench $(ARGS)

clean: ## remove what the targets made
	@rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
