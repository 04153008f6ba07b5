# The commands of the house. `make demo` needs Rust and a C compiler; `make test` installs the rest.

CARGO ?= cargo
VENV := .venv
PYTHON := $(VENV)/bin/python
# What the suites of the other languages need: servers, and the library for C.
export MILLPOND_TEST_SERVERS := $(CURDIR)/target/debug/millpond-test-servers
PREFIX := $(CURDIR)/target/prefix
LIBRARY := $(PREFIX)/lib/libmillpond.so
# Ends what hangs, and says what that is; the suites of other languages do so by themselves.
LIMITED := $(CURDIR)/tests/limited 600
ADAPTERS := rust,python,python-asyncio,node,c,ruby,ruby-redis-ick,php,php-phpredis

.PHONY: help demo polyglot check test test-rust test-python test-node test-c test-ruby test-php setup \
	python node library conformance interop chaos bench clean

help:
	@echo "make demo         a search index kept up to date through an Ick, killed in mid-batch"
	@echo "make polyglot     Ruby and PHP producers, Node and Python consumers, one queue"
	@echo "make check        format, lints and unit tests"
	@echo "make test         installs what the tests need and runs every suite of every language"
	@echo "make test-node    one language's suite; also rust, python, c, ruby, php"
	@echo "make conformance  the cases, in every language, on every backend"
	@echo "make interop      the Go package on the same queues, if it can be had"
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

# What the suites need beyond Rust: servers, languages, and their clients for Redis.
setup:
	tests/setup
	$(CARGO) build --quiet -p millpond-tests --bins

test: test-rust test-python test-node test-c test-ruby test-php polyglot interop conformance

test-rust: setup
	$(LIMITED) $(CARGO) test --workspace
	$(LIMITED) $(CARGO) test -p millpond --lib --features shuttle tasks::embedded::model
	for example in first producer consumer shuffle shuffle_producer shuffle_consumer tasks \
		tasks_producer tasks_worker; do \
		$(LIMITED) $(CARGO) run --quiet -p millpond-examples --example $$example || exit 1; \
	done

test-python: python
	MILLPOND_WHEEL=$$(ls $(CURDIR)/target/wheels/*.whl) $(PYTHON) -m pytest -q python/tests

test-node: node
	cd node && npm test

test-c: setup
	$(MAKE) --no-print-directory -C ffi test

# MILLPOND_REDIS_ICK_GEM=folder is a checkout of the gem redis-ick, whose own suite the drop-in passes.
test-ruby: library
	cd ffi/ruby && MILLPOND_LIBRARY=$(LIBRARY) ruby -Ilib test/run.rb
	cd ffi/ruby && MILLPOND_LIBRARY=$(LIBRARY) ruby -rset -Ilib test/redis_ick/gem_suite.rb

test-php: library
	cd ffi/php && phpunit

# The Python package, from its wheel as a user would install it, with what its tests need.
python: setup
	test -x $(PYTHON) || python3 -m venv $(VENV)
	rm -rf target/wheels
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir target/wheels ./python
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/*.whl

# The Node package and what its tests need; builds the addon.
node: setup
	cd node && npm ci --silent

# libmillpond in a prefix of its own, for Ruby, and in the PHP package.
library: setup
	$(MAKE) --no-print-directory --silent -C ffi install php PROFILE=demo PREFIX=$(PREFIX)

polyglot: python node library
	MILLPOND_LIBRARY=$(LIBRARY) $(LIMITED) $(PYTHON) examples/polyglot/polyglot.py

# CONFORMANCE_DIR=folder runs another folder of cases of the same format.
conformance: python node library
	$(MAKE) --no-print-directory -C ffi adapter
	MILLPOND_PYTHON=$(abspath $(PYTHON)) MILLPOND_LIBRARY=$(LIBRARY) CONFORMANCE_DIR="$(CONFORMANCE_DIR)" \
		$(CARGO) run --quiet --profile demo -p millpond-tests --bin millpond-conformance -- \
		--adapters $(ADAPTERS)

# MILLPOND_INTEROP_PACKAGE=folder is a checkout of the Go package; without it, it is fetched.
interop: setup
	CARGO="$(CARGO)" tests/interop/run

chaos: setup
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- file
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- redis
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- shuffle
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- tasks

# PARTS="server shuffle" measures only these. Not npm ci, which refuses the lock: of an optional part
# of BullMQ it holds only the builds for Linux.
bench: python node
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/bench/python/requirements.txt
	cd tests/bench/node && npm install --no-save --silent
	$(MAKE) --no-print-directory --silent -C ffi install php PREFIX=$(CURDIR)/target/release-prefix
	$(MAKE) --no-print-directory --silent -C ffi bench
	MILLPOND_BENCH_PYTHON=$(abspath $(PYTHON)) MILLPOND_BENCH_NODE=node \
		MILLPOND_BENCH_C=$(CURDIR)/target/bench/millpond-bench-c \
		MILLPOND_BENCH_RUBY=ruby MILLPOND_BENCH_PHP=php \
		MILLPOND_LIBRARY=$(CURDIR)/target/release-prefix/lib/libmillpond.so \
		$(CARGO) run --release -p millpond-bench -- $(PARTS)

clean:
	$(CARGO) clean
	rm -rf $(VENV) node/node_modules node/prebuilt
