# Every target sets up .venv by itself. `make test` is what CI runs.

PYTHON ?= python3
CC ?= cc
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# setuptools warns at every editable build; there is nothing to do about it.
QUIET := PYTHONWARNINGS="ignore:Editable installation"
CORE := $(wildcard jelly/_core/*/*.pyx jelly/_core/*/*.pxd)
BUILD_INPUTS := setup.py pyproject.toml $(CORE)
SANITIZED := $(CURDIR)/build/sanitized
THREADS := $(CURDIR)/build/sanitized-threads
# Beside that of the lakehouse.
SPARK_VERSIONS := 4.2.1 4.3.0
# Tests that start threads, for ThreadSanitizer.
IN_THREADS := tests/threads tests/pipeline/test_same_bytes.py tests/seekable/test_seek.py \
    $(foreach name,jelly/test_decode jelly/test_encode algebra/test_algebra jena/test_binary ntriples/test_text,tests/core/$(name).py)
SPARK := tests/spark
# They wait for servers, and servers for them.
WAITING := tests/grpc tests/kafka
# They follow those, so that the lanes take about as long.
BESIDE := tests/hostile tests/house tests/core tests/differential
# The tests of Spark that run with each version of it.
EVERY_SPARK := -m every_spark $(foreach name,ingest patches reading streaming udf writing,tests/spark/test_$(name).py)

.PHONY: build demo test pytest pytest-rest pytest-spark pytest-waiting pytest-beside connect under-load lakehouse spark-versions oldest \
    newest pipeline wheel sbom sanitize fuzz soak docs sanitize-threads types api coverage bench gate gate-baseline lint clean

# Only what changed is compiled.
build: $(VENV)/ready

# Needs no more than numpy and the command, unless the rest is there already. -I: the package is not that of this folder,
# which may not be built.
demo: $(or $(wildcard $(VENV)/ready),$(VENV)/demo)
	@$(BIN)/python -I bench/demo.py
	$(if $(wildcard $(VENV)/ready),,@echo "Compiled quickly: what 'make build' or pip compile is about a fifth faster here, and more in what was not shown.")

# Most of what pip would compile in an environment is never imported, and the rest is compiled when it is.
export PIP_NO_COMPILE ?= 1
# The tests draw the same everywhere, and in the long form another each time.
export PYTHONHASHSEED ?= $(if $(JELLY_LONG),random,0)
PARTS := $(PYTHON) tests/support/parts.py

# In two lanes of about the same length, which hold a core each, and a third one that takes what they leave. Wheel and
# sanitize both build from this tree: sanitize has done so long before wheel begins.
test: $(VENV)/ready
	@$(PARTS) "$(MAKE) sanitize; $(MAKE) pytest-rest" "$(MAKE) pytest-waiting; $(MAKE) pytest-beside" \
	    "$(MAKE) pytest-spark; $(if $(JELLY_LONG),$(MAKE) connect; )$(MAKE) lakehouse; $(MAKE) wheel"

pytest: $(VENV)/ready
	@$(PARTS) "$(MAKE) pytest-rest" "$(MAKE) pytest-waiting; $(MAKE) pytest-beside" "$(MAKE) pytest-spark"

pytest-rest: $(VENV)/ready
	$(BIN)/pytest tests $(addprefix --ignore=,$(SPARK) $(WAITING) $(BESIDE))

pytest-spark: $(VENV)/ready
	$(BIN)/pytest $(SPARK)

pytest-waiting: $(VENV)/ready
	$(BIN)/pytest $(WAITING)

pytest-beside: $(VENV)/ready
	$(BIN)/pytest $(BESIDE)

# The tests of Spark that have a session, with one of Spark Connect. A sample of it is in tests/lakehouse.
connect: export JELLY_SPARK_REMOTE ?= local[2]
connect: $(VENV)/ready
	$(BIN)/pytest $(SPARK)

# The tests whose bound is a time or a memory size, beside a load that takes all cores.
ROUNDS := 50
under-load: $(VENV)/ready
	$(BIN)/python tests/support/under_load.py $(ROUNDS)

# Tests that run out of the tree find the shared data beside their folder too.
SHARED := $(abspath $(wildcard ../shared))
# A wheel as users get it, made from the sdist, in an environment with numpy alone and out of the tree.
WHEEL := $(CURDIR)/build/wheel
ifeq ($(shell uname -s),Linux)
REPAIR = PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --strip -z 9 -w $(WHEEL)/repaired $(WHEEL)/dist/*.whl
else
REPAIR = mkdir $(WHEEL)/repaired && cp $(WHEEL)/dist/*.whl $(WHEEL)/repaired
endif
wheel: export SOURCE_DATE_EPOCH = 315532800
wheel: $(VENV)/ready
	rm -rf $(WHEEL)
	$(PIP) install --quiet --group wheel
	$(BIN)/python -m build --sdist --outdir $(WHEEL)/again . > /dev/null
	$(BIN)/python -m build --sdist --outdir $(WHEEL)/dist . > /dev/null
	cmp $(WHEEL)/again/*.tar.gz $(WHEEL)/dist/*.tar.gz
	for folder in first elsewhere; do \
	    mkdir $(WHEEL)/$$folder && tar -xzf $(WHEEL)/dist/*.tar.gz -C $(WHEEL)/$$folder --strip-components=1 || exit; \
	done
	# From sources that are those of this tree, with what was compiled from them here. JELLY_LONG=1 compiles all.
	for file in setup.py $(CORE); do cmp $$file $(WHEEL)/first/$$file || exit; done
	$(if $(JELLY_LONG),,tar -cf - build/release/temp.* $(patsubst %.pyx,%.c,$(filter %.pyx,$(CORE))) jelly/_core/base/cython_shared.c | tar -xf - -C $(WHEEL)/first)
	$(BIN)/python -m build --wheel --outdir $(WHEEL)/dist $(WHEEL)/first > /dev/null
	# Once more in another folder, with a sample of the modules, which are compiled, or with all: JELLY_LONG=1.
	$(if $(JELLY_LONG),,find $(WHEEL)/elsewhere/jelly -name '*.py[xi]' ! -path '*/rules/*' -delete)
	$(BIN)/python -m build --wheel --outdir $(WHEEL)/again $(WHEEL)/elsewhere > /dev/null
	$(BIN)/python tests/support/same_wheel.py $(WHEEL)/again/*.whl $(WHEEL)/dist/*.whl
	$(REPAIR)
	# Beside the package there are modules by which Spark finds its data sources (W009), copies of one file (W002).
	$(BIN)/check-wheel-contents --ignore W002,W009 $(WHEEL)/repaired/*.whl
	$(BIN)/python -m venv --without-pip $(WHEEL)/venv
	$(PIP) --python $(WHEEL)/venv/bin/python install --quiet --group core $(WHEEL)/repaired/*.whl
	mkdir $(WHEEL)/out && cp -r pyproject.toml tests $(WHEEL)/out
	$(if $(SHARED),ln -s $(SHARED) $(WHEEL)/shared)
	cd $(WHEEL)/out && env -u PYTHONPATH JELLY_WHEEL="$$(echo $(WHEEL)/repaired/*.whl)" \
	    $(WHEEL)/venv/bin/python -m pytest -q -p no:cacheprovider tests/wheel tests/core$(if $(JELLY_LONG),,/jelly) tests/conformance

# A bill of materials in CycloneDX: the package and what it needs. SBOM_OF is a wheel, or this tree.
SBOM_OF ?= .
sbom: $(VENV)/pip
	rm -rf build/sbom
	$(PIP) install --quiet --group sbom
	$(BIN)/python -m venv --without-pip build/sbom/venv
	$(PIP) --python build/sbom/venv/bin/python install --quiet $(SBOM_OF)
	sed "s/^dynamic = .*/version = \"$$($(BIN)/python setup.py --version)\"/" pyproject.toml > build/sbom/pyproject.toml
	$(BIN)/cyclonedx-py environment --pyproject build/sbom/pyproject.toml --mc-type library --output-reproducible \
	    --output-file build/sbom/jelly-rdf.cdx.json build/sbom/venv/bin/python

# The tests of what uses the extras, beside the lowest versions of all of them and beside the newest. Out of the tree, with
# the package installed: `make oldest PYTHON_OF_VERSIONS=python3.10` builds it for that Python.
PYTHON_OF_VERSIONS ?= $(PYTHON)
VERSIONS_TESTED := $(foreach name,cli compression find formats grpc ids io kafka libraries messages patch query results \
    seekable tools verbs,tests/$(name))
oldest: RESOLUTION := lowest-direct
newest: RESOLUTION := highest
# Old packages use what is deprecated in newer Pythons and packages; only the newest ones answer for it.
oldest: WARNINGS := -W ignore::DeprecationWarning -W ignore::FutureWarning
oldest newest: $(VENV)/pip
	rm -rf build/$@ && mkdir -p build/$@/out
	$(PIP) install --quiet --group uv
	$(PYTHON_OF_VERSIONS) -m venv --without-pip build/$@/venv
	$(BIN)/uv pip install --python build/$@/venv --resolution $(RESOLUTION) --reinstall-package jelly-rdf \
	    '.[all,graph]' 'grpcio-tools>=1.64'
	$(BIN)/uv pip install --quiet --python build/$@/venv --group versions
	$(BIN)/uv pip freeze --python build/$@/venv
	cp -r pyproject.toml tests docs proto build/$@/out
	$(if $(SHARED),ln -s $(SHARED) build/$@/shared)
	cd build/$@/out && env -u PYTHONPATH ../venv/bin/python -m pytest -q -p no:cacheprovider $(WARNINGS) $(EVERY_SPARK)
	# Spark asks for a newer pyarrow than the rest does.
	$(BIN)/uv pip install --python build/$@/venv --resolution $(RESOLUTION) --upgrade-package pyarrow '.[arrow]'
	cd build/$@/out && env -u PYTHONPATH ../venv/bin/python -m pytest -q -p no:cacheprovider $(WARNINGS) $(VERSIONS_TESTED)

# With another Spark, the one that has Delta, Iceberg and Kafka. Its Python uses the modules built in this tree.
lakehouse: $(VENV)/ready $(VENV)/lakehouse/ready
	PYTHONPATH="$(CURDIR)" $(VENV)/lakehouse/bin/python -m pytest --timeout=900 tests/lakehouse $(EVERY_SPARK)

spark-versions: $(VENV)/ready $(foreach version,$(SPARK_VERSIONS),$(VENV)/spark-$(version)/ready)
	for version in $(SPARK_VERSIONS); do \
	    PYTHONPATH="$(CURDIR)" $(VENV)/spark-$$version/bin/python -m pytest $(EVERY_SPARK) || exit; \
	done

# Steps of a pipeline on Spark, beside the same in plain PySpark.
pipeline: $(VENV)/ready $(VENV)/lakehouse/ready
	$(PIP) --python $(VENV)/lakehouse/bin/python install --quiet --group pipeline
	PYTHONPATH="$(CURDIR)" $(VENV)/lakehouse/bin/python bench/spark/pipeline.py

# The second copy of the package is found first through PYTHONPATH. bin/pytest and not python -m pytest: the latter puts
# this directory, with the normal build, before it. --capture=sys: a report of the sanitizers goes to the real stderr.
ifeq ($(shell uname -s),Linux)
sanitize: $(VENV)/ready $(SANITIZED)/ready
	env PYTHONPATH="$(SANITIZED)" PYTHONMALLOC=malloc JELLY_SAMPLE=$(if $(JELLY_LONG),1,3) \
	    LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    $(BIN)/pytest -p no:cacheprovider --capture=sys tests/hostile tests/core

# Any report ends the run with an error. setarch -R: some kernels place memory where ThreadSanitizer cannot be. One thread of
# OpenBLAS: NumPy's copy of it is not compiled for ThreadSanitizer, which does not see how its threads wait for each other.
sanitize-threads: $(VENV)/ready $(THREADS)/ready
	env PYTHONPATH="$(THREADS)" OPENBLAS_NUM_THREADS=1 LD_PRELOAD="$$($(CC) -print-file-name=libtsan.so)" \
	    TSAN_OPTIONS=halt_on_error=1:exitcode=66 \
	    setarch -R $(BIN)/pytest -p no:cacheprovider --capture=sys $(IN_THREADS)
else
sanitize sanitize-threads:
	@echo "$@: only on Linux, skipped"
endif

# All harnesses of tests/fuzz, one after the other, under both sanitizers. Needs clang. FUZZ names some of them.
SECONDS = 600
fuzz: $(VENV)/ready
	$(BIN)/python tests/fuzz/build.py build/fuzz
	$(BIN)/python tests/fuzz/run.py build/fuzz $(SECONDS) $(FUZZ)

# Traced modules take the place of the normal ones in jelly/_core, so those are built again afterwards.
coverage:
	$(MAKE) $(VENV)/ready
	rm -f $(VENV)/ready
	status=0; \
	$(PIP) install --quiet --group coverage && \
	JELLY_TRACE=1 $(BIN)/python setup.py -q build_ext --inplace && \
	COVERAGE_CORE=ctrace PYTHONHASHSEED=0 $(BIN)/coverage run -m pytest tests && \
	$(BIN)/coverage report || status=$$?; \
	rm -f jelly/_core/*/*.c jelly/_core/*/*.so; exit $$status

bench: $(VENV)/bench
	$(BIN)/python -m pytest bench

# Four jobs, one after the other: MINUTES each, or that many million STATEMENTS. The report is in build/soak.
MINUTES := 60
STATEMENTS := 500
soak: $(VENV)/ready
	$(BIN)/python bench/soak.py --minutes $(MINUTES) --statements $(STATEMENTS)

# Instructions under valgrind, so that it may run beside other work; about two minutes.
gate: $(VENV)/ready
	$(BIN)/python bench/gate.py

gate-baseline: $(VENV)/ready
	$(BIN)/python bench/gate.py --write

# Fails on a warning, a dead link or an undocumented public name; then a browser looks at every page, where there is one.
docs: $(VENV)/docs/ready
	NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/python -m mkdocs build --strict -f docs/site/mkdocs.yml
	$(VENV)/docs/bin/python -m pytest -q tests/site/test_site_reference.py tests/site/test_site_browser.py
	@echo "build/site/index.html"

# Types of each public name, and stubs of the compiled modules that say what is there.
types: $(VENV)/ready
	$(BIN)/pytest tests/house/test_typing.py tests/house/test_stubs.py

# What is gone from the API, or is called otherwise, since the last tag.
api: $(VENV)/pip
	$(PIP) install --quiet --group api
	$(BIN)/python tests/support/api_changes.py

lint: $(VENV)/ready
	$(BIN)/ruff check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint jelly/_core
	$(BIN)/mypy
	$(BIN)/python proto/generate.py --check

# pip knows dependency groups since 25.1.
$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	touch $@

$(VENV)/installed: $(VENV)/pip pyproject.toml
	$(QUIET) $(PIP) install --quiet --group test --group wheel -e '.[cli]'
	touch $@

$(VENV)/ready: $(VENV)/installed $(BUILD_INPUTS)
	$(BIN)/python setup.py -q build_ext --inplace
	touch $@

# Beside the sources and with little optimisation, so that it is there in a minute and `make build` does not take it over.
# What it needs is installed while it is built.
$(VENV)/demo: $(BUILD_INPUTS) $(shell find jelly -name '*.py')
	@echo "Setting up $(VENV) with numpy and the command, and compiling: about a minute on two cores."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet $$(sed -nE 's/^(dependencies|cli) = \[(.*)\]$$/\2/p' pyproject.toml | tr -d '",') & needs=$$!; \
	    JELLY_QUICK=1 $(PIP) install --quiet --no-deps . && wait $$needs
	@touch $@

$(VENV)/bench: $(VENV)/ready
	$(PIP) install --quiet --group bench
	touch $@

$(VENV)/docs/ready: $(VENV)/pip $(BUILD_INPUTS)
	$(BIN)/python -m venv --without-pip $(@D)
	$(QUIET) $(PIP) --python $(@D)/bin/python install --quiet --group docs -e '.[cli]'
	touch $@

$(VENV)/lakehouse/ready: $(VENV)/pip pyproject.toml
	$(BIN)/python -m venv --without-pip $(@D)
	$(PIP) --python $(@D)/bin/python install --quiet --group lakehouse
	touch $@

$(VENV)/spark-%/ready: $(VENV)/pip pyproject.toml
	$(BIN)/python -m venv --without-pip $(@D)
	$(PIP) --python $(@D)/bin/python install --quiet --group spark pyspark==$*
	touch $@

# All of the package, not the core alone: the copy must not mix with the modules beside the sources. From the C that Cython
# has made for the normal build, with the Cython of that.
$(SANITIZED)/ready: $(BUILD_INPUTS) $(shell find jelly -name '*.py') | $(VENV)/ready
	rm -rf $(SANITIZED) build/sanitize
	CC="$(CC)" JELLY_SANITIZE=1 $(PIP) install --quiet --no-deps --no-build-isolation --target $(SANITIZED) .
	touch $@

$(THREADS)/ready: $(BUILD_INPUTS) $(shell find jelly -name '*.py') | $(VENV)/ready
	rm -rf $(THREADS) build/sanitize-threads
	CC="$(CC)" JELLY_SANITIZE=threads $(PIP) install --quiet --no-deps --no-build-isolation --target $(THREADS) .
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage
	rm -f $(foreach kind,c so pyd html,jelly/_core/*/*.$(kind))
	rm -rf tests/interop/jvm/target tests/kafka/broker/target
	find jelly proto tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
