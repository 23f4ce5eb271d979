# The name of the machine for the compiler.
HOST = $(shell rustc -vV | sed -n 's/host: //p')

# Targets explain themselves: `make` lists them.
.DEFAULT_GOAL := help
.PHONY: help test test-rust test-targets target-tools test-browser test-python mutants fuzz fuzz-coverage asan asan-python miri test-hard deny wheel lint demo bench bench-compress bench-direct bench-direct-ridge bench-export bench-peers bench-predict bench-rvm bench-pca bench-python bench-scale bench-tabular bench-trust bench-trust-sets library bench-device bench-studio test-wheel test-sklearn-oldest gallery doc site reference transcripts packages benchmarks bench-check bench-check-accept studio build-gpu test-gpu bench-gpu

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: lint target-tools test-rust test-targets test-browser test-python ## format, lints and all tests; what needs a tool that is missing is left out with a sentence

test-rust: ## the tests of library and program; needs nothing but Rust
	PYO3_NO_PYTHON=1 cargo test --workspace --quiet

# The graphs and files that are asked about were left by test-rust, which also compiles and runs the C source and the examples of docs/deploy.md.
test-targets: target-tools test-rust ## asks onnxruntime and LIBSVM what exported machines mean, after the tests of library and program
	@python=target/peers-venv/bin/python; test -x $$python || python=python3; \
	if ! command -v $$python >/dev/null; then \
		echo "no Python; neither onnxruntime nor LIBSVM is asked what exported machines mean"; \
	else \
		$$python crates/kernelet/tests/targets/check_with_onnxruntime.py && \
		$$python crates/kernelet/tests/models/check_with_libsvm.py; \
	fi

target-tools:
	@for name in $${CC:-cc} gcc clang; do command -v "$$name" >/dev/null && exit 0; done; echo "no C compiler; the exported C source is not run"
	@test -e target/peers-venv/bin/python || python3 -m venv target/peers-venv || echo "no Python with venv; onnxruntime and LIBSVM cannot be installed"
	@if test -e target/peers-venv/bin/python; then for package in numpy onnxruntime libsvm-official; do \
		target/peers-venv/bin/pip show --quiet "$$package" 2>/dev/null || target/peers-venv/bin/pip install --quiet --retries 1 "$$package" || \
			echo "$$package could not be installed; what needs it is not tested"; \
	done; fi

BROWSER ?= $(firstword $(shell for name in chromium chromium-browser google-chrome; do command -v $$name; done; true))
test-browser: ## the pages of `kernelet report` and `studio` (made by make studio) in chromium, where that is installed; BROWSER=PATH names another
	@if [ -z "$(BROWSER)" ]; then \
		echo "no chromium; the pages of kernelet report and studio are not tested in a browser"; \
	else \
		KERNELET_BROWSER="$(BROWSER)" PYO3_NO_PYTHON=1 cargo test --workspace --quiet --test browser -- --ignored --nocapture; \
	fi

# The wheel is built in target/, so that what was compiled before is not compiled again. Tests take the profile of the Rust tests (PROFILE=dev).
PROFILE ?= release
wheel: target/python-venv/made ## the Python wheel, in target/wheels
	rm -f target/wheels/kernelet-*.whl
	PYO3_NO_PYTHON=1 cargo build --workspace --bin kernelet --profile $(PROFILE) --quiet
	mkdir -p python/kernelet.data/scripts
	cp target/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/kernelet python/kernelet.data/scripts/
	cd python && CARGO_TARGET_DIR=$(CURDIR)/target ../target/python-venv/bin/maturin build --profile $(PROFILE) --quiet --out ../target/wheels
	@du -h target/wheels/kernelet-*.whl

target/python-venv/made: python/tests/requirements.txt
	python3 -m venv target/python-venv
	target/python-venv/bin/pip install --quiet -r python/tests/requirements.txt
	touch $@

test-python: ## builds the wheel, installs it in target/python-venv and runs the tests of the Python package
	@if ! python3 -c "import sys, venv; assert sys.version_info >= (3, 10)" 2>/dev/null; then \
		echo "no Python 3.10 or newer with venv; the Python package is not tested"; \
	elif ! $(MAKE) --no-print-directory target/python-venv/made; then \
		echo "the tools of python/tests/requirements.txt could not be installed; the Python package is not tested"; \
	else \
		$(MAKE) --no-print-directory wheel PROFILE=dev && \
		target/python-venv/bin/pip install --quiet --force-reinstall --no-deps target/wheels/kernelet-*.whl && \
		target/python-venv/bin/mypy --no-error-summary --config-file python/pyproject.toml python/kernelet && \
		cd python/tests && ../../target/python-venv/bin/python -m pytest --quiet -p no:cacheprovider -n 2 . ; \
	fi

test-wheel: wheel ## audits the wheel and installs it in a fresh environment without Rust; SDIST=1 also builds the source distribution
	cd python && ../target/python-venv/bin/maturin sdist --out ../target/wheels
	SDIST=$(SDIST) sh python/tests/wheel.sh $(CURDIR)/target/wheels/kernelet-*.whl $(CURDIR)/target/wheels/kernelet-*.tar.gz

# The oldest scikit-learn that the package promises to work with, in an environment of its own; the wheel is the one of test-python.
test-sklearn-oldest: ## scikit-learn's checks of all estimators on scikit-learn 1.6
	$(MAKE) --no-print-directory wheel PROFILE=dev
	test -e target/oldest-venv/made || { python3 -m venv target/oldest-venv && \
		target/oldest-venv/bin/pip install --quiet "scikit-learn>=1.6,<1.7" pandas pytest matplotlib && touch target/oldest-venv/made; }
	target/oldest-venv/bin/pip install --quiet --force-reinstall --no-deps target/wheels/kernelet-*.whl
	cd python/tests && ../../target/oldest-venv/bin/python -m pytest --quiet -p no:cacheprovider test_checks.py test_drop_in.py test_drop_in_scripts.py test_wrappers.py

gallery: ## the figures of docs/gallery.md, by the package in target/python-venv
	cd python/examples/gallery && for name in *.py; do \
		MPLBACKEND=agg ../../../target/python-venv/bin/python $$name -o ../../../docs/gallery/$${name%.py}.png || exit 1; \
	done

# Which lines could change without a test that fails? All mutants are compiled at once, and one is switched on for each run of the tests.
MUTATED ?= crates/kernelet/src/learn/smo/solver.rs crates/kernelet/src/learn/smo/scan.rs crates/kernelet/src/learn/smo/problem.rs crates/kernelet/src/compress/refit.rs crates/kernelet/src/kernel/fused.rs
MUTANT_TESTS ?= smo:: svc svr one_class refit fused predict
mutants: ## mutation testing of MUTATED (SMO solver, refits, fused evaluator) by the unit tests named MUTANT_TESTS; MUTANTS=K takes every K-th mutant
	cargo build --quiet --manifest-path mutants/Cargo.toml
	mutants/target/debug/mutants $(MUTATED) -- $(MUTANT_TESTS)

# One target after another, SECONDS of processor time each; corpora grow in target/fuzz-corpus, findings are in fuzz/artifacts. An input that takes ten minutes is one.
SECONDS ?= 60
FUZZ ?= libsvm_data csv npy npz parquet range native_model libsvm_model json_model cache differential problem predict
fuzz: ## coverage-guided fuzzing of every reader for SECONDS=N each; FUZZ=names; needs a nightly toolchain and cargo install cargo-fuzz
	python3 fuzz/seeds.py target/fuzz-corpus
	for name in $(FUZZ); do \
		CARGO_TARGET_DIR=$(CURDIR)/target/fuzz cargo +nightly fuzz build -s none --codegen-units 16 "$$name" || exit 1; \
		words=fuzz/dictionaries/$$name.dict; [ ! -f $$words ] && words= || words=-dict=$$words; \
		mkdir -p target/fuzz-corpus/$$name fuzz/artifacts/$$name; \
		python3 fuzz/run.py target/fuzz/$(HOST)/release/$$name target/fuzz-corpus/$$name $(SECONDS) $$words \
			-artifact_prefix=fuzz/artifacts/$$name/ -rss_limit_mb=4096 -timeout=600 || exit 1; \
	done

# The compiler must be the one whose LLVM tools are there: rustup component add llvm-tools --toolchain nightly.
LLVM_TOOLS ?= $(shell dirname $$(find $$(rustc +nightly --print sysroot) -name llvm-cov))
fuzz-coverage: ## line coverage of every reader by the corpora that make fuzz has grown; needs llvm-tools of the nightly toolchain
	cd fuzz && LLVM_PROFILE_FILE=$(CURDIR)/target/fuzz-coverage/build-%p.profraw RUSTFLAGS=-Cinstrument-coverage cargo +nightly build --bin replay --target-dir ../target/fuzz-coverage
	LLVM_PROFILE_FILE=target/fuzz-coverage/replay.profraw target/fuzz-coverage/debug/replay target/fuzz-corpus
	$(LLVM_TOOLS)/llvm-profdata merge -sparse target/fuzz-coverage/replay.profraw -o target/fuzz-coverage/replay.profdata
	$(LLVM_TOOLS)/llvm-cov report target/fuzz-coverage/debug/replay -instr-profile target/fuzz-coverage/replay.profdata \
		-ignore-filename-regex='registry|rustc|fuzz/src' --show-region-summary=false --show-branch-summary=false --show-functions=false \
		| grep -E 'data/(read|table)|model/|Filename'

asan: ## the tests of kernels, prediction, readers and model files under AddressSanitizer; needs a nightly toolchain
	RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$(CURDIR)/target/asan cargo +nightly test -p kernelet --lib --target $(HOST) -- \
		kernel:: machine::predict data::read model::native model::libsvm

# The interpreter is not instrumented, so the library of AddressSanitizer is loaded before it; what it never frees is no leak.
ASAN_TESTS = $(addprefix tests/,test_bad_inputs.py test_blocks.py test_cascade.py test_estimators.py test_frames.py test_given_kernels.py test_sets.py)
asan-python: target/python-venv/made ## tests of the Python extension under AddressSanitizer; needs a nightly toolchain and gcc
	RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$(CURDIR)/target/asan cargo +nightly build -p kernelet-python --target $(HOST)
	rm -rf target/asan/python && mkdir -p target/asan/python && cp -r python/kernelet python/tests target/asan/python
	cp target/asan/$(HOST)/debug/lib_core.so target/asan/python/kernelet/_core.abi3.so
	cd target/asan/python && LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=. \
		../../python-venv/bin/python -m pytest -q -p no:cacheprovider $(ASAN_TESTS)

# The same tests as portable code and with the instructions of AVX2, which Miri interprets too.
miri: ## the arithmetic of prediction under Miri, portable and AVX2; needs the component miri of a nightly toolchain
	for features in "" "-Ctarget-feature=+avx2,+fma"; do \
		RUSTFLAGS=$$features MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-deterministic-floats" CARGO_TARGET_DIR=$(CURDIR)/target/miri \
			cargo +nightly miri test -p kernelet --no-default-features --lib -- kernel::exp fused::tests::nan fused::tests::rows || exit 1; \
	done

test-hard: ## the long runs of the tests of faults and limits: 48,000 hostile files, more than 1,000 killed, interrupted and starved processes
	KERNELET_HARD=1 PYO3_NO_PYTHON=1 cargo test --workspace --test faults --test hostile --test metamorphic -- --nocapture

deny: ## licences, advisories and sources of all dependencies; needs cargo install cargo-deny
	cargo deny check

library: ## libkernelet.so, libkernelet.a and kernelet.h in target/library, for programs that call C
	cargo build --release -p kernelet-c
	mkdir -p target/library
	cp target/release/libkernelet_c.so target/library/libkernelet.so
	cp target/release/libkernelet_c.a target/library/libkernelet.a
	cp crates/kernelet-c/include/kernelet.h target/library/

# `rustup target add wasm32-unknown-unknown` is all it needs. docs/studio.md has the variables for a toolchain without that target but with the standard library's source.
STUDIO_CARGO ?= cargo
studio: ## the page of kernelet studio, one file: target/studio/index.html; needs rustup target add wasm32-unknown-unknown
	RUSTFLAGS="-Ctarget-feature=+simd128" $(STUDIO_CARGO) build -p kernelet-web --profile studio --target wasm32-unknown-unknown --target-dir target/web $(STUDIO_FLAGS)
	sh crates/kernelet-web/page/assemble.sh target/web/wasm32-unknown-unknown/studio/kernelet_web.wasm target/studio

lint: ## formatting and lints, warnings denied
	cargo fmt --all -- --check
	PYO3_NO_PYTHON=1 cargo clippy --workspace --all-targets --quiet -- -D warnings

demo: ## train the built-in digits and print what came out
	cargo run --release -- demo

bench: ## micro-benchmarks of kernels and readers
	cargo bench -p kernelet

bench-peers: ## training and reading beside LIBSVM and scikit-learn; DATA=DIR adds real sets, REPEAT=K turns
	cargo build --release -p kernelet --examples
	test -d target/peers-venv || python3 -m venv target/peers-venv
	while read -r package; do \
		target/peers-venv/bin/pip install --quiet "$$package" || echo "$$package could not be installed; what needs it is left out"; \
	done < benches/peers/requirements.txt
	target/peers-venv/bin/python benches/peers/peers.py $(if $(DATA),--data-dir $(DATA)) $(if $(REPEAT),--repeat $(REPEAT))

bench-predict: ## prediction beside scikit-learn, scikit-learn-intelex and onnxruntime
	cargo build --release -p kernelet --examples
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn scikit-learn-intelex onnxruntime skl2onnx
	target/peers-venv/bin/python benches/peers/predict.py $(if $(REPEAT),--repeat $(REPEAT))

bench-rvm: ## relevance vector classification beside fastrvm; REPEAT=K turns
	cargo build --release -p kernelet --examples
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet numpy fastrvm
	target/peers-venv/bin/python benches/peers/rvm.py $(if $(REPEAT),--repeat $(REPEAT))

bench-pca: ## kernel PCA beside scikit-learn's, one thread each
	cargo build --release -p kernelet --examples
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn
	target/peers-venv/bin/python benches/peers/pca.py $(if $(REPEAT),--repeat $(REPEAT))

bench-python: wheel ## the Python package beside scikit-learn, one thread each, and a large model of its made small
	target/python-venv/bin/pip install --quiet --force-reinstall --no-deps target/wheels/kernelet-*.whl
	OPENBLAS_NUM_THREADS=1 target/python-venv/bin/python benches/peers/python.py
	target/python-venv/bin/python benches/peers/python_compress.py

bench-direct: ## machines trained with few vectors beside Nystroem + LinearSVC; DATA=DIR has the sets
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn onnxruntime skl2onnx libsvm-official
	target/peers-venv/bin/python benches/peers/direct.py --data-dir $(DATA) $(if $(SETS),--sets $(SETS))

# About half an hour on two idle cores; the package goes into the same environment as its peers.
benchmarks: target/python-venv/made ## all benchmarks in small form beside their peers, one page with charts in target/benchmarks; DATA=DIR has the sets, PARTS=a,b, TINY=1 only tries
	cargo build --release -p kernelet-cli
	cargo build --release -p kernelet --examples
	$(MAKE) --no-print-directory wheel
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn onnxruntime skl2onnx libsvm-official
	target/peers-venv/bin/pip install --quiet scikit-learn-intelex || echo "scikit-learn-intelex could not be installed; it is left out"
	target/peers-venv/bin/pip install --quiet --force-reinstall --no-deps target/wheels/kernelet-*.whl
	target/peers-venv/bin/python benches/all.py $(if $(DATA),--data $(DATA)) $(if $(PARTS),--parts $(PARTS)) $(if $(TINY),--tiny)

bench-check: ## instruction counts of ten hot paths; fails where one is 5 % above the baseline (needs valgrind)
	cargo build --release -p kernelet-cli
	python3 benches/check.py

bench-check-accept: ## the instruction counts of this processor become the baseline
	cargo build --release -p kernelet-cli
	python3 benches/check.py --accept

bench-compress: ## compression by auto beside random vectors with a refit; DATA=DIR adds the papers' sets
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn
	target/peers-venv/bin/python benches/peers/compress.py $(if $(DATA),--data-dir $(DATA)) $(if $(SETS),--sets $(SETS))

bench-direct-ridge: ## ridge regression with vectors found with it beside bases chosen before; DATA=DIR has the sets
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn
	target/peers-venv/bin/python benches/peers/direct_ridge.py --data-dir $(DATA) $(if $(SETS),--sets $(SETS))

bench-export: ## time, size and agreement of exported machines, and the ONNX graph beside skl2onnx's SVM node
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn onnxruntime skl2onnx libsvm-official
	target/peers-venv/bin/python benches/peers/export.py $(if $(REPEAT),--repeat $(REPEAT))

bench-trust-sets: ## cover of prediction sets, probabilities and deviations; DATA=DIR has the sets, DRAWS=K, PARTS=sets,probabilities,compressed,deviations
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet numpy
	target/peers-venv/bin/python benches/trust/sets.py --data-dir $(DATA) $(if $(DRAWS),--draws $(DRAWS)) $(if $(PARTS),--parts $(PARTS))
bench-device: ## instructions, flash and RAM of exported machines under QEMU (Cortex-M0+, M4, RISC-V) beside m2cgen, micromlgen and emlearn
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet numpy scikit-learn m2cgen micromlgen emlearn || echo "a peer could not be installed; it is left out"
	target/peers-venv/bin/python benches/device/device.py

bench-studio: studio ## training in the page of the studio beside the program with one thread and without SIMD, in processor time; needs chromium
	cargo build --release -p kernelet-cli
	python3 benches/studio/studio.py

bench-scale: wheel ## training on rows without end: memory, passes, processor time, faults; DATA=DIR has covtype and usps, PARTS=memory,text,.. FOLDER=DIR with 6 GB
	cargo build --release -p kernelet-cli
	cargo build --release -p kernelet --example scale
	target/python-venv/bin/pip install --quiet --force-reinstall --no-deps target/wheels/kernelet-*.whl
	target/python-venv/bin/python benches/peers/scale.py $(if $(DATA),--data-dir $(DATA)) $(if $(PARTS),--parts $(PARTS)) $(if $(FOLDER),--folder $(FOLDER))

bench-tabular: ## 30 and 100 vectors with a learned metric beside SVM, boosting, MLP and Nystroem; DATA=DIR has the sets, SETS=a,b SPLITS=K TRIALS=N
	$(MAKE) --no-print-directory target/python-venv/made wheel
	target/python-venv/bin/pip install --quiet --force-reinstall --no-deps target/wheels/kernelet-*.whl
	target/python-venv/bin/python benches/peers/tabular.py --data-dir $(DATA) $(if $(SETS),--sets $(SETS)) $(if $(SPLITS),--splits $(SPLITS)) $(if $(TRIALS),--trials $(TRIALS)) $(if $(OUTPUT),--output $(OUTPUT))

bench-trust: ## how often promises hold, how sharp goals are, what cascades cost; DATA=DIR has the sets, SETS=a,b PARTS=splits,sharp,cascades DRAWS=N
	cargo build --release -p kernelet-cli
	cargo build --release -p kernelet --example trust
	target/release/examples/trust $(or $(DRAWS),400)
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn scipy
	target/peers-venv/bin/python benches/peers/trust.py $(if $(DATA),--data-dir $(DATA)) $(if $(SETS),--sets $(SETS)) $(if $(PARTS),--parts $(PARTS)) $(if $(DRAWS),--draws $(DRAWS))

target/tools/bin/mdbook:
	cargo install mdbook --version 0.5.4 --locked --quiet --no-default-features --features search --root target/tools

reference: ## the pages of docs/reference that are written by the program and by the docstrings of the Python package in target/python-venv
	cargo run --quiet -- manual > target/commands.md && mv target/commands.md docs/reference/commands.md
	target/python-venv/bin/python docs/python_reference.py > target/python.md && mv target/python.md docs/reference/python.md

transcripts: ## the outputs that stand in docs against what the program prints; DATA=DIR has the sets, PAGES=.., WRITE=1 replaces what is stale
	cargo build --release -p kernelet-cli
	python3 docs/transcripts.py target/release $(if $(DATA),--data-dir $(DATA)) $(if $(WRITE),--write) $(PAGES)

packages: ## the crates as they would be published, and the program for TARGET=x86_64-unknown-linux-musl in target/dist with completions and man pages
	cargo package -p kernelet -p kernelet-experiments -p kernelet-cli
	sh packaging/archive.sh $(or $(TARGET),x86_64-unknown-linux-musl)

site: target/tools/bin/mdbook ## the documentation site, in target/site/html, with every link checked
	python3 docs/site.py target/tools/bin/mdbook target/site

# On a machine with an NVIDIA card. CUDA's compute-sanitizer is used where it is installed; CORE is the folder of the Python extension, DATA that of mnist.npz and covtype.npz.
build-gpu: ## the programs that test-gpu and bench-gpu run, to be carried to a machine with a card: target/gpu
	mkdir -p target/gpu
	program=$$(cargo test --release -p kernelet --features cuda --lib --no-run 2>&1 | tee /dev/stderr | sed -n 's/.*unittests src.lib.rs (\(.*\))/\1/p') && \
		cp "$$program" target/gpu/kernelet-tests && strip target/gpu/kernelet-tests
	cd python && PYO3_NO_PYTHON=1 cargo build --release -p kernelet-python
	cp target/release/lib_core.so target/gpu/_core.so && strip target/gpu/_core.so
	cp benches/gpu/bench.py benches/gpu/kernels.py benches/gpu/test.sh crates/kernelet/src/device/kernels/*.z target/gpu/
	test -z "$(DATA)" || cp $(DATA)/mnist/mnist.npz $(DATA)/covtype/covtype.npz target/gpu/

test-gpu: ## the tests that need an NVIDIA card, then memcheck and racecheck of every kernel; after build-gpu, on the machine with the card
	sh target/gpu/test.sh target/gpu/kernelet-tests

bench-gpu: ## prediction and training on an NVIDIA card beside torch; after build-gpu, on the machine with the card; PARTS=resident,mnist,.. GENERATION=sm_90
	python3 target/gpu/kernels.py target/gpu/$(or $(GENERATION),sm_90).z
	python3 target/gpu/bench.py target/gpu --data-dir target/gpu $(if $(PARTS),--parts $(PARTS))

doc: ## the library's documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
