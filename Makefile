# Everything a developer types. Each target installs what it needs first (scripts/install-deps.sh skips what is there).
# Knobs: JOBS, FUZZ_SECONDS, CHAOS_ROUNDS, SCHEMA_SECONDS, BENCH_OBJECTS, CEL_EXPRESSIONS, CEL_SEED, LINT=all, CTEST_ARGS.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
CHAOS_ROUNDS ?= 60
SCHEMA_SECONDS ?= 1800
BENCH_OBJECTS ?= 2000
CEL_EXPRESSIONS ?= 50000
CEL_SEED ?= 1
LINT ?= changed
CTEST_ARGS ?=
# The system's Python has the modules that scripts/install-deps.sh installs.
PYTHON ?= $(or $(wildcard /usr/bin/python3),python3)

# build PRESET TARGET...: configures once (CMake notices new files by itself) and builds.
define build
	@[ -f build/$(1)/build.ninja ] || cmake --preset $(1)
	cmake --build --preset $(1) -j $(JOBS) --target $(2)
endef
ctest = ctest --output-on-failure --no-tests=error --schedule-random

.PHONY: help web build all demo test unit e2e bench chaos api-fuzz stream-load fuzz lint format asan tsan cel-diff servers examples manifests clean
help:
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

build: ## build/release/kollect
	@scripts/install-deps.sh build
	$(call build,release,kollect)
	@echo "built: build/release/kollect"

all: ## everything, tests and benchmarks included
	@scripts/install-deps.sh test
	@scripts/arrow.sh >/dev/null
	@grep -qs libkollect-parquet build/release/build.ninja || cmake --preset release
	$(call build,release,all)

demo: build ## collect an example cluster twice; see the Git diff and the history
	@scripts/demo.sh build/release/kollect

test: all servers ## all tests, those on real servers included
	$(ctest) --test-dir build/release -j $(JOBS) $(CTEST_ARGS)

unit: all ## the tests that need no server
	$(ctest) --test-dir build/release -j $(JOBS) -LE server $(CTEST_ARGS)

cel-diff: build ## random expressions (CEL_EXPRESSIONS, CEL_SEED) against the evaluator of the language's authors
	@scripts/conformance.sh diff build/release -n $(CEL_EXPRESSIONS) -seed $(CEL_SEED)

servers: ## kube-apiserver, etcd, Flux Operator and helm for tests, built once into a cache outside the tree
	@scripts/install-deps.sh test
	@scripts/servers/build.sh etcd kube-apiserver kubectl flux-operator helm versitygw nats-server azurite bqemulator fake-gcs-server secantusd-py
	@scripts/servers/build.sh kafka

bench: all servers ## benchmarks of the rooms, and collect against a raw list on a real kube-apiserver
	@scripts/bench/run.sh build/release $(BENCH_OBJECTS)

chaos: all servers ## operator, API server, PostgreSQL and Git killed at random under change (CHAOS_ROUNDS, CHAOS_ARGS=--seed N)
	KOLLECT=build/release/kollect $(PYTHON) tests/chaos/chaos_test.py --rounds $(CHAOS_ROUNDS) $(CHAOS_ARGS)
	KOLLECT=build/release/kollect $(PYTHON) tests/chaos/storm_test.py --rounds $(CHAOS_ROUNDS) $(CHAOS_ARGS)

api-fuzz: build ## a schema fuzzer against the fleet API and the read API, SCHEMA_SECONDS (1800) for each server
	@scripts/install-deps.sh test
	KOLLECT=build/release/kollect SCHEMA_SECONDS=$(SCHEMA_SECONDS) $(PYTHON) tests/e2e/fleet_schema_test.py
	KOLLECT=build/release/kollect SCHEMA_SECONDS=$(SCHEMA_SECONDS) $(PYTHON) tests/e2e/read_schema_test.py

stream-load: all ## 200 listeners of the read API's stream under 1000 changes a second for five minutes (STREAM_ARGS="--clients N --rate N --seconds N")
	KOLLECT=build/release/kollect $(PYTHON) tests/load/stream_test.py --clients 200 --slow 4 --rate 1000 --seconds 300 --objects 5000 $(STREAM_ARGS)

fuzz: ## every fuzzer for FUZZ_SECONDS (600) seconds
	@scripts/install-deps.sh dev
	$(call build,fuzz,fuzzers)
	@scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS) $(JOBS)

lint: ## clang-format and clang-tidy on changed files (LINT=all: on every file)
	@scripts/install-deps.sh dev
	@scripts/lint.sh $(LINT) $(JOBS)

format: ## clang-format in place
	@scripts/install-deps.sh dev
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs -r clang-format-16 -i

asan: ## unit tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install-deps.sh test
	$(call build,asan,unit_tests)
	$(ctest) --test-dir build/asan -j $(JOBS) -L unit $(CTEST_ARGS)

tsan: ## unit tests with ThreadSanitizer
	@scripts/install-deps.sh test
	$(call build,tsan,unit_tests)
	$(ctest) --test-dir build/tsan -j $(JOBS) -L unit $(CTEST_ARGS)

examples: ## writes examples/dump anew
	$(PYTHON) scripts/make_example_dump.py examples/dump

web: ## web/dist, the console that the program embeds, from web/src
	@scripts/install-deps.sh test
	@scripts/web.sh build

manifests: build ## definitions of the chart and deploy/operator anew, from the program and the chart
	@scripts/servers/build.sh helm
	build/release/kollect crds > charts/kollect/crds/kollect.dev.yaml
	build/release/kollect crds --docs docs/kinds
	scripts/generate/operator_manifests.sh > deploy/operator/operator.yaml

clean: ## removes build/
	rm -rf build
