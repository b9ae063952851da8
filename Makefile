# make demo | test | lint | bench | docs: each target makes the virtual environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
JOBS ?= 2
# Cases per method of the catalogue and batch in `make fuzz`.
FUZZ_CASES ?= 100
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)

SOURCES := $(shell find src cpp bindings -type f -not -name '*.so' -not -path '*__pycache__*' 2>/dev/null)

.PHONY: demo test test-slow test-lowest test-kernels test-threads fuzz fuzz-tally fuzz-sanitize mutants lint bench docs develop stubs clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt "scikit-build-core>=0.10" "nanobind>=2.4" ninja cmake

$(VENV)/.base: $(BIN)/python pyproject.toml CMakeLists.txt constraints.txt $(SOURCES)
	$(PIP) install -c constraints.txt --no-build-isolation .
	touch $@

$(VENV)/.tools: $(BIN)/python pyproject.toml CMakeLists.txt constraints.txt $(SOURCES)
	$(PIP) install -c constraints.txt --no-build-isolation ".[plots,test,lint]"
	touch $@ $(VENV)/.base

demo: $(VENV)/.base
	$(BIN)/assay demo --out demo-report

test: lint test-kernels
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" tests

test-slow: $(VENV)/.tools test-threads
	$(BIN)/python -m pytest -m slow tests

# The C++ tests under the thread sanitizer.
test-threads: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/threads -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DASSAY_EXTENSION=OFF -DASSAY_TESTS=ON -DASSAY_SANITIZE_THREADS=ON > /dev/null
	$(BIN)/cmake --build build/threads
	OMP_NUM_THREADS=4 TSAN_OPTIONS=halt_on_error=1 build/threads/assay_cpp_tests

# New random examples at every run of every property, many more than in `make test`, which repeats its own.
fuzz: $(VENV)/.tools
	HYPOTHESIS_PROFILE=fuzz ASSAY_FUZZ=$(or $(FUZZ),10000) ASSAY_FUZZ_CASES=$(FUZZ_CASES) ASSAY_FUZZ_SEED=$$(date +%s) $(BIN)/python -m pytest -n $(JOBS) -m "not slow" tests/fuzz $$(grep -rlE '^@given' tests)

# The tally of docs/design/robustness.md: batches in processes of their own; the same command goes on where it stopped.
fuzz-tally: $(VENV)/.tools
	$(BIN)/python -m tests.fuzz.tally estimators 50000
	$(BIN)/python -m tests.fuzz.tally readers 10000
	$(BIN)/python -m tests.fuzz.tally kills 500
	$(BIN)/python -m tests.fuzz.tally packages 10000

# The extension under the address and undefined-behaviour sanitizers, given odd input. FUZZ_CASES for each method.
fuzz-sanitize: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/sanitized-extension -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPython_EXECUTABLE=$(abspath $(BIN)/python) -DASSAY_SANITIZE=ON > /dev/null
	$(BIN)/cmake --build build/sanitized-extension
	$(BIN)/python -m tests.fuzz.sanitized build/sanitized-extension --cases $(FUZZ_CASES)

# Small wrong changes to chosen files: how many of them do the tests notice? FILES and EACH choose.
mutants: $(VENV)/.tools
	$(BIN)/python -m tests.mutants $(FILES) --each $(or $(EACH),12)

# The same tests with every dependency at the lower bound that pyproject.toml states.
test-lowest:
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip --disable-pip-version-check -q install -c constraints-lowest.txt scikit-build-core nanobind ninja cmake
	build/lowest/bin/python -m pip --disable-pip-version-check -q install -c constraints-lowest.txt --no-build-isolation ".[plots,test]"
	build/lowest/bin/python -m pytest -n $(JOBS) -m "not slow" tests

# The C++ tests, once under the address and undefined-behaviour sanitizers.
test-kernels: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DASSAY_EXTENSION=OFF -DASSAY_TESTS=ON -DASSAY_SANITIZE=ON > /dev/null
	$(BIN)/cmake --build build/sanitize
	build/sanitize/assay_cpp_tests

lint: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Against the peers. PROBLEMS chooses; QUICK=1 takes the smallest size once and keeps nothing.
bench: $(VENV)/.tools
	$(PIP) install setuptools wheel  # for peers that are built from source
	$(PIP) install -c constraints.txt --no-build-isolation ".[bench]"
	$(BIN)/python -m benchmarks.versus $(if $(QUICK),--quick,--pages) $(PROBLEMS)

docs: $(VENV)/.tools
	$(BIN)/python docs/build.py

# For development: the extension beside the sources; then run with PYTHONPATH=src.
develop: $(BIN)/python
	$(BIN)/cmake -S . -B build/dev -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPython_EXECUTABLE=$(abspath $(BIN)/python) -DASSAY_INPLACE=ON -DASSAY_TESTS=ON > /dev/null
	$(BIN)/cmake --build build/dev

stubs: develop
	PYTHONPATH=src $(BIN)/python -m nanobind.stubgen -m assay._kernels -o src/assay/_kernels.pyi

clean:
	rm -rf build demo-report $(VENV)
