# The commands of the house. `make demo` needs Rust and a C compiler; `make test` installs the rest.

CARGO ?= cargo
VENV := .venv
PYTHON := $(VENV)/bin/python
SERVERS := target/debug/millpond-test-servers

.PHONY: help demo check test setup python conformance chaos bench clean

help:
	@echo "make demo         a search index kept up to date through an Ick, killed in mid-batch"
	@echo "make check        format, lints and unit tests"
	@echo "make test         installs what the tests need and runs every suite of every language"
	@echo "make conformance  the cases, in every language, on every backend"
	@echo "make chaos        kills processes and servers, and counts"
	@echo "make bench        measures against what users have, and writes tests/bench/RESULTS.md"

# DIR=folder indexes a copy of another folder.
demo:
	@echo "Building the demo; the first time takes about a minute."
	@$(CARGO) run --quiet --locked --profile demo -p millpond-examples --bin search-index -- $(if $(DIR),"$(DIR)")

check:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) check --quiet -p millpond --no-default-features
	$(CARGO) check --quiet -p millpond --no-default-features --features embedded
	$(CARGO) check --quiet -p millpond --no-default-features --features redis
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps -p millpond
	$(CARGO) check --quiet --manifest-path tests/bench/stores/Cargo.toml --target-dir target/stores
	$(CARGO) test --quiet -p millpond --lib
	@if command -v cargo-deny >/dev/null; then $(CARGO) deny --log-level error check licenses bans sources; fi

# What the suites need beyond Rust: a redis-server and a Python with venv.
setup:
	tests/setup

test: setup python
	$(CARGO) test --workspace
	for example in first producer consumer; do \
		$(CARGO) run --quiet -p millpond-examples --example $$example || exit 1; \
	done
	MILLPOND_TEST_SERVERS=$(abspath $(SERVERS)) $(PYTHON) -m pytest -q python/tests
	$(MAKE) --no-print-directory conformance

# The Python package, installed as a user would, with what its tests need.
python: setup
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps ./python
	$(CARGO) build --quiet -p millpond-tests --bins

# CONFORMANCE_DIR=folder runs another folder of cases of the same format.
conformance: python
	MILLPOND_PYTHON=$(abspath $(PYTHON)) CONFORMANCE_DIR="$(CONFORMANCE_DIR)" \
		$(CARGO) run --quiet --profile demo -p millpond-tests --bin millpond-conformance -- \
		--adapters rust,python,python-asyncio

chaos: setup
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- file
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- redis

bench: python
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/bench/python/requirements.txt
	MILLPOND_BENCH_PYTHON=$(abspath $(PYTHON)) $(CARGO) run --release -p millpond-bench

clean:
	$(CARGO) clean
	rm -rf $(VENV)
