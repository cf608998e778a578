# The commands that people and CI type. Each does its own set-up: packages, Python environment, models, build.
PYTHON := .venv/bin/python
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 300
# Of the mutations; 0: another one each time.
FUZZ_SEED ?= 0
# clang-tidy on the N latest changed sources only; empty: on all.
TIDY_FILES ?=

.DEFAULT_GOAL := help
.PHONY: help setup setup-clang build models demo test bench-cpu lint format fuzz asan clean

help:            ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-12s %s\n", $$1, $$2}'

setup:
	@scripts/setup.sh

setup-clang:
	@scripts/setup.sh clang

build: setup     ## build/release/strop, the libraries, the tests
	@cmake --preset release >/dev/null
	@ninja -C build/release -j $(JOBS)

models: setup    ## collect the models of scripts/catalogue.py in .cache/models
	@$(PYTHON) scripts/models.py

demo: build models  ## compile a real model, prove it, run it, time it
	@$(PYTHON) scripts/demo.py

test: build models  ## every test; ends with the counts
	@$(PYTHON) scripts/run_tests.py --jobs $(JOBS)

bench-cpu: build models  ## Strop and ONNX Runtime in alternation: table, and JSON in docs/results/
	@$(PYTHON) bench/cpu_peers.py

lint: setup-clang build  ## include directions, format, ruff, clang-tidy (TIDY_FILES=N: the N latest changed files)
	@$(PYTHON) scripts/lint.py $(if $(TIDY_FILES),--tidy-files $(TIDY_FILES))

format: setup-clang  ## rewrite all sources in the project's format
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i
	@.venv/bin/ruff format --quiet scripts bench tests

fuzz: setup-clang  ## libFuzzer targets with sanitizers, FUZZ_SECONDS in all
	@cmake --preset fuzz >/dev/null
	@ninja -C build/fuzz -j $(JOBS) fuzzers
	@$(PYTHON) scripts/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --jobs $(JOBS)

asan: setup      ## the C++ tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan >/dev/null
	@ninja -C build/asan -j $(JOBS)
	@ctest --test-dir build/asan -j $(JOBS) --output-on-failure

clean:           ## remove build/ (models and Python environment stay)
	rm -rf build
