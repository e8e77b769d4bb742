# Every target sets up .venv by itself; nothing is needed but Python 3.11+, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet

.PHONY: help demo install test coverage check docs bench validate validate-quick wheel format clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

demo: install ## draw a robot, and compute the published experiments anew, in out/
	@mkdir -p out
	$(BIN)/triskele show abb_irb360_6_1600 --out out/robot.png
	$(BIN)/triskele reproduce
	@echo "Done. Open out/reproduce.html, the page of all experiments, and out/robot.png."

install: $(VENV)/.runtime ## set up .venv with the package alone

$(VENV)/.runtime: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "triskele needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV) (first time, or versions changed) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "Adding the tools for tests and checks ..."
	@$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.validate: $(VENV)/.dev
	@echo "Adding the engines to compare with ..."
	@$(PIP) --editable '.[dev,validate]'
	@touch $@

# Pinocchio's headers need Eigen's to be compiled; without them its calls from Python are timed.
$(VENV)/.bench: $(VENV)/.validate
	@echo "Adding the headers of Eigen ..."
	-@$(PIP) --editable '.[dev,validate,bench]'
	@touch $@

test: $(VENV)/.dev ## run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not oracle and not long"

coverage: $(VENV)/.dev ## run the tests and list lines that none of them reaches; twice as slow
	$(BIN)/python -m pytest -n 2 -m "not oracle" --cov --cov-report=term-missing:skip-covered

check: $(VENV)/.dev docs ## ruff, pyright, layers, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

docs: $(VENV)/.dev ## build the documentation, warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.bench ## measure speed, as ratios to C loops and to other engines
	$(BIN)/python -m benchmarks

validate: $(VENV)/.validate ## ask other engines the same questions, and run the longest tests
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "oracle or long" tests

validate-quick: $(VENV)/.validate ## the part of it that CI runs
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "(oracle or long) and not slow" tests

wheel: $(VENV)/.dev ## build the wheel into dist/
	$(BIN)/python -m build --wheel --no-isolation

format: $(VENV)/.dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove everything that was built
	rm -rf $(VENV) out dist docs/_build .pytest_cache .ruff_cache .coverage* .hypothesis
