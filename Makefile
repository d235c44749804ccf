# `make demo` and `make test` need nothing but Python 3.11 or newer; they make .venv themselves.
# Another interpreter: make test PYTHON=/path/to/python3
# One benchmark:       make bench ARGS=moons

NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
SITE := tests/browser/test_site.py
PYTEST := $(BIN)/python -m pytest -p no:nbmake --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: help which-python demo lessons handout test test-all check lint format javascript types pytest pytest-all sanitize test-site coverage mutants hunt docs site site-serve \
	bench bench-peers clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: .venv/.moons  ## train a scalar network on the two moons; pictures in out/
	$(BIN)/python demos/moons.py

lessons: .venv/.demos  ## open the course in Jupyter, at lesson 0
	@test "$$(id -u)" != 0 || test -n '$(filter --allow-root,$(ARGS))' || { \
		echo 'Jupyter does not run as root, since a notebook may do anything that its user may.'; \
		echo 'Run this as another user; or, in a container, say: make lessons ARGS=--allow-root'; exit 1; }
	$(BIN)/jupyter lab --ServerApp.root_dir="$(CURDIR)" demos/lessons/00_*.ipynb $(ARGS)

handout: .venv/.demos  ## for a class: notebooks without solutions, a key, slides, worksheets, in out/handout/; ARGS="--students 30 04"
	$(BIN)/python demos/lessons/handout.py $(ARGS)

test: lint types pytest  ## lint, types, and the tests of what most changes touch: three minutes

test-all: lint types pytest-all  ## lint, types, all tests but those of the built site: ten minutes

check: lint types  ## lint, types, the engine's own tests: under a minute, while one works
	$(PYTEST) @tests/engine.txt

lint: .venv/.dev  ## ruff, and prettier and tsc where npm is: lint and format, nothing is changed; and what is written, proofread
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/proofread.py
	$(BIN)/python tools/proofread_course.py
	$(BIN)/python tools/proofread_docstrings.py
	@$(MAKE) --no-print-directory javascript DO=check

format: .venv/.dev  ## ruff and, where npm is, prettier: lint and format, what they can fix is fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@$(MAKE) --no-print-directory javascript DO=format

# Check or format it, where npm is, or where a machine is to have everything
javascript: $(if $(or $(shell command -v npm),$(MICROGRAD_HAS)),tools/javascript/node_modules/.fetched)
	$(if $^,npm run --silent --prefix tools/javascript $(DO),@echo "JavaScript is left out: npm was not found. CI has it.")

tools/javascript/node_modules/.fetched: tools/javascript/package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --silent --prefix tools/javascript
	@touch $@

types: .venv/.dev  ## pyright
	$(BIN)/pyright

pytest: .venv/.dev  ## tests, doctests, README; without back ends, lessons and pages, unless they were changed
	$(PYTEST) --ignore=$(SITE) -m "$$($(BIN)/python tools/what_to_test.py)"

pytest-all: .venv/.dev
	HUNT_EXAMPLES=40 $(PYTEST) --ignore=$(SITE)

sanitize: .venv/.dev  ## the programs in C under AddressSanitizer and UBSan; some minutes; needs gcc
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		MICROGRAD_CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' \
		$(BIN)/python -m pytest -p no:nbmake -n 0 -m in_c tests/compiler tests/backends

test-site: .venv/.dev  ## build the site, and use it in Chromium: a minute or two; needs Node
	$(BIN)/python -m pytest -p no:nbmake $(SITE)

coverage: .venv/.dev  ## branches that tests take: all of the engine's and of Tensors', 97 of 100 of the rest
	$(PYTEST) --cov=micrograd --cov-branch --cov-report=
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=97
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=100 --include='micrograd/engine/*,micrograd/tensor/*'

which-python:
	@command -v $(PYTHON)

mutants: .venv/.dev  ## change the package in 240 places, and see which change no test notices (hours); ARGS="--only micrograd/nn"
	nice -n 19 $(BIN)/python tools/mutants.py $(ARGS)

hunt: .venv/.dev  ## random programs and uses against each other, PyTorch and a naive engine, for SECONDS=600
	$(BIN)/python tools/hunt.py $(or $(SECONDS),600)

docs: site  ## the same as make site

site: .venv/.made  ## the site, with playground, course and reference, in out/site/; needs Node too; LITE=1 adds JupyterLite, NUMPY=FOLDER NumPy
	$(BIN)/python site/build.py $(if $(LITE),--lite) $(if $(NUMPY),--numpy $(NUMPY)) $(ARGS)

site-serve: site  ## build the site and serve it at http://127.0.0.1:8000; needs Node
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory out/site 8000

bench-peers: .venv/.dev  ## fetch the engines to compare with: HIPS autograd, MyGrad, tinygrad, JAX
	$(BIN)/python -m benchmarks.engines

bench: .venv/.dev  ## side by side with the classic engine and PyTorch; writes benchmarks/README.md
	$(BIN)/python -m benchmarks.run $(ARGS)

clean:  ## remove all that make made here, .venv too
	rm -rf .venv .mutants build dist *.egg-info out site/.build tools/javascript/node_modules benchmarks/peers .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# .venv/.moons, .demos and .dev are stamps: that extra is installed, as pyproject.toml has it now.
.venv/.%: pyproject.toml | .venv/.made
	@$(BIN)/python tools/install.py $*
	@touch $@

.venv/.made:
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		found=$$(for p in $(or $(PYTHON),python3 python3.10 python3.9 python3.8 python); do \
			version=$$($$p --version 2>&1) && echo "$$version ($$p)"; done | paste -s -d , - | sed "s|,|, |g"); \
		echo "micrograd needs Python 3.11 or newer; found: $${found:-none}."; \
		echo 'Install one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)'; exit 1; }
	@echo "making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@touch $@
