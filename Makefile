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
# Everything is built in this profile, which cargo calls debug on disk: one build serves all suites.
PROFILE := dev
# Cargo for builds that are part of one build of everything: see the file.
WHOLE := $(CURDIR)/tests/whole/cargo
# The models of threads, with locks of their own and hence a build of their own.
MODELS := env RUSTFLAGS="--cfg shuttle" $(CARGO) test -p millpond --lib --no-default-features --features embedded \
	--target-dir target/shuttle
CONFORMANCE = MILLPOND_PYTHON=$(abspath $(PYTHON)) MILLPOND_LIBRARY=$(LIBRARY) \
	CONFORMANCE_DIR="$(CONFORMANCE_DIR)" target/debug/millpond-conformance
# What the workers of the deploy storm need.
STORM := MILLPOND_LIBRARY=$(LIBRARY)
LANGUAGES := rust,python,node,c,ruby,php
HOSTS := python,python-asyncio,node,c,ruby,ruby-redis-ick,php,php-phpredis

.PHONY: help demo check setup rust python node library suite-c build test suites test-all test-rust test-python test-node \
	test-c test-ruby test-php conformance polyglot shop interop chaos bench bindings dist dist-assemble dist-twice test-dist release clean

help:
	@echo "make demo         a search index kept up to date through an Ick, killed in mid-batch"
	@echo "make polyglot     Ruby and PHP producers, Node and Python consumers, one queue"
	@echo "make shop         a shop in four languages, whose processes and server are killed at random"
	@echo "make check        format, lints and unit tests"
	@echo "make test         installs what the tests need and runs every suite of every language"
	@echo "make test-all     the same, and what takes long: valgrind, the whole matrix, chaos"
	@echo "make test-node    one language's suite; also rust, python, c, ruby, php"
	@echo "make conformance  the cases, in every language, on every backend"
	@echo "make interop      the Go package on the same queues, if it can be had"
	@echo "make chaos        kills processes and servers, and counts"
	@echo "make bench        measures against what users have, and writes tests/bench/RESULTS.md"
	@echo "make dist         the files of a release, for users without Rust, into dist/"
	@echo "make test-dist    installs those files in clean systems without a compiler, and uses them; as root"
	@echo "make release      VERSION=0.1.0 commits and tags a release, or says what is missing; it pushes nothing"

# DIR=folder indexes a copy of another folder.
demo:
	@echo "Building the demo; the first time takes one to two minutes."
	@$(CARGO) run --quiet --locked -p millpond-examples --bin search-index -- $(if $(DIR),"$(DIR)")

check:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --quiet --locked -- -D warnings
	$(WHOLE) run --quiet --bin millpond-bindings -- --check
	python3 tests/suites_test.py --quiet
	python3 tests/release_test.py --quiet
	@if command -v actionlint >/dev/null; then actionlint; fi
	@if command -v cargo-deny >/dev/null; then $(CARGO) deny --log-level error check licenses bans sources; fi

# TARGET=aarch64-unknown-linux-gnu, or another whose standard library rustup has installed.
dist:
	@.ci/dist $(if $(TARGET),--target $(TARGET))

# What is packed for all machines together, from the files of each in dist/.
dist-assemble:
	@.ci/dist assemble

# Two builds of this commit in two folders, which have to be equal to the byte.
dist-twice:
	@.ci/dist-twice

test-dist:
	@.ci/test-dist/run $(SYSTEMS)

release:
	@.ci/release $(VERSION)

# What the suites need beyond Rust: servers, languages, and their clients for Redis.
setup:
	tests/setup

# What all suites need: built before any of them runs.
build: rust python node library suite-c
	$(MODELS) --quiet --no-run

# All that is in Rust: the suites, the libraries of the other languages, and the program that starts servers for
# their suites.
rust: setup
	$(WHOLE) build --quiet

# The Python package, from its wheel as a user would install it, with what its tests need.
python: rust
	test -x $(PYTHON) || python3 -m venv $(VENV)
	rm -rf target/wheels
	PATH=$(if $(filter dev,$(PROFILE)),$(dir $(WHOLE)):)$$PATH MATURIN_PEP517_ARGS='--profile $(PROFILE)' $(PYTHON) -m pip wheel --quiet --disable-pip-version-check \
		--no-deps --wheel-dir target/wheels ./python
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/*.whl

# The Node package and what its tests need; builds the addon.
node: rust
	cd node && CARGO=$(WHOLE) MILLPOND_CARGO_PROFILE=$(PROFILE) npm ci --silent

# libmillpond in a prefix of its own, for Ruby, and in the PHP package.
library: rust
	$(MAKE) --no-print-directory --silent -C ffi install php CARGO=$(WHOLE) PROFILE=$(PROFILE) PREFIX=$(PREFIX)

# The suite in C, its adapter for conformance, and its worker for the deploy storm.
suite-c: rust
	$(MAKE) --no-print-directory --silent -C ffi/tests build adapter storm CARGO=$(WHOLE)

# Every suite of every language, side by side; `make test-all` adds what is deep.
test: build suites
suites:
	@python3 tests/suites.py

test-all: build
	@python3 tests/suites.py --deep

# One language's suites.
test-rust: build
	@python3 tests/suites.py rust rust-docs rust-models
test-python: rust python
test-node: rust node
test-ruby test-php: rust library
test-c: rust suite-c
test-python test-node test-c test-ruby test-php: test-%:
	@python3 tests/suites.py $*

# What tests/suites.py calls: a suite without the building.
run-rust-docs:
	$(LIMITED) $(CARGO) test --locked --workspace --doc
run-rust-models:
	$(LIMITED) $(MODELS) model
run-python:
	MILLPOND_WHEEL=$$(ls $(CURDIR)/target/wheels/*.whl) $(PYTHON) -m pytest -q python/tests
run-node:
	cd node && CARGO=$(WHOLE) MILLPOND_CARGO_PROFILE=$(PROFILE) npm test
run-c:
	$(MAKE) --no-print-directory -C ffi/tests fast CARGO=$(WHOLE)
run-c-deep:
	$(MAKE) --no-print-directory -C ffi/tests deep
# MILLPOND_REDIS_ICK_GEM=folder is a checkout of the gem redis-ick, whose own suite the drop-in passes.
run-ruby:
	cd ffi/ruby && MILLPOND_LIBRARY=$(LIBRARY) ruby -Ilib test/run.rb
	cd ffi/ruby && MILLPOND_LIBRARY=$(LIBRARY) ruby -rset -Ilib test/redis_ick/gem_suite.rb
run-php:
	cd ffi/php && phpunit
run-examples:
	@count=0; for example in first producer consumer shuffle shuffle_producer shuffle_consumer tasks \
		tasks_producer tasks_worker events events_producer events_worker events_nightly volatile recruiter tracker; do \
		$(LIMITED) target/debug/examples/$$example || exit 1; count=$$((count + 1)); \
	done; echo "$$count examples ran"
run-polyglot:
	MILLPOND_LIBRARY=$(LIBRARY) $(LIMITED) $(PYTHON) examples/polyglot/polyglot.py
# SECONDS=60 kills for longer, and SEED=… makes the same random choices.
run-shop:
	MILLPOND_LIBRARY=$(LIBRARY) $(LIMITED) $(PYTHON) examples/shop/shop.py $(or $(SECONDS),20) $(SEED)
# MILLPOND_INTEROP_PACKAGE=folder is a checkout of the Go package; without it, it is fetched.
run-interop:
	CARGO="$(CARGO)" tests/interop/run
# The hosts do not differ in how a server is reached: that is core's. So they have all cases on memory: alone, and
# on Redis a fifth of them, another one for each commit.
run-conformance:
	$(CONFORMANCE) --adapters rust
	$(CONFORMANCE) --adapters $(HOSTS) --backends memory
	$(CONFORMANCE) --adapters $(HOSTS) --backends redis --one-in 5 --seed $(shell git rev-parse HEAD || echo none)
run-conformance-all:
	$(CONFORMANCE) --adapters rust,$(HOSTS)

# CONFORMANCE_DIR=folder runs another folder of cases of the same format.
conformance: build
	@$(MAKE) --no-print-directory run-conformance-all
polyglot shop interop: build
	@$(MAKE) --no-print-directory run-$@

run-server-matrix:
	CARGO="$(CARGO)" tests/server-matrix

chaos: build
	@$(MAKE) --no-print-directory run-$@
run-chaos:
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- file
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- redis
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- shuffle
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- tasks
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- events
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- schedules
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- volatile
	$(CARGO) run --release -p millpond-tests --bin millpond-chaos -- recruiter
	$(STORM) $(CARGO) run --release -p millpond-tests --bin millpond-chaos -- deploy --languages $(LANGUAGES)
# The same on the build that the other suites use, for a few seconds.
run-storm:
	$(STORM) $(LIMITED) target/debug/millpond-chaos deploy --kills 12 --languages $(LANGUAGES)

# What of `make check` takes a build for each set of features, the documentation, and a build from a clone as a
# user makes it.
run-checks:
	$(CARGO) check --quiet --locked -p millpond --no-default-features
	$(CARGO) check --quiet --locked -p millpond --no-default-features --features embedded
	$(CARGO) check --quiet --locked -p millpond --no-default-features --features redis
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --locked --no-deps -p millpond
	$(CARGO) check --quiet --manifest-path tests/bench/stores/Cargo.toml --target-dir target/stores
	@echo "5 checks passed"
run-clone:
	tests/clone

# PARTS="server shuffle" measures only these. Not npm ci, which refuses the lock: of an optional part
# of BullMQ it holds only the builds for Linux.
bench: PROFILE := release
bench: WHOLE := $(CARGO)
bench: python node
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/bench/python/requirements.txt
	cd tests/bench/node && npm install --no-save --silent
	$(MAKE) --no-print-directory --silent -C ffi install php PREFIX=$(CURDIR)/target/release-prefix
	$(MAKE) --no-print-directory --silent -C ffi bench
	$(CARGO) test --quiet -p millpond --lib a_burst_as_a_picture -- --nocapture | sed -n '/^<svg/,/^<.svg>/p' > tests/bench/burst.svg
	MILLPOND_BENCH_PYTHON=$(abspath $(PYTHON)) MILLPOND_BENCH_NODE=node \
		MILLPOND_BENCH_C=$(CURDIR)/target/bench/millpond-bench-c \
		MILLPOND_BENCH_RUBY=ruby MILLPOND_BENCH_PHP=php \
		MILLPOND_LIBRARY=$(CURDIR)/target/release-prefix/lib/libmillpond.so \
		$(CARGO) run --release -p millpond-bench -- $(PARTS)

# Writes all that is generated from the core's public items, for every language.
bindings:
	$(CARGO) run --quiet -p millpond-bindings

clean:
	$(CARGO) clean
	rm -rf $(VENV) node/node_modules node/prebuilt
