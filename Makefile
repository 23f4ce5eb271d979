# Targets explain themselves: `make` lists them.
.DEFAULT_GOAL := help
.PHONY: help test lint demo check-targets bench bench-direct bench-export bench-peers bench-predict bench-rvm bench-pca doc

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: lint ## format, lints and all tests; needs nothing but Rust
	cargo test --workspace --quiet

lint: ## formatting and lints, warnings denied
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

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

check-targets: ## asks onnxruntime, LIBSVM and gcc what exported machines mean; what cannot be installed is left out
	test -d target/peers-venv || python3 -m venv target/peers-venv || true
	for package in numpy onnxruntime libsvm-official; do \
		target/peers-venv/bin/pip install --quiet "$$package" || echo "$$package could not be installed; what needs it is left out"; \
	done
	cargo test --quiet -p kernelet --test targets --test model_files
	cargo test --quiet -p kernelet-cli --test cli deploy -- --nocapture
	! target/peers-venv/bin/python -c "import numpy, onnxruntime" || \
		target/peers-venv/bin/python crates/kernelet/tests/targets/check_with_onnxruntime.py
	! target/peers-venv/bin/python -c "import libsvm" || \
		target/peers-venv/bin/python crates/kernelet/tests/models/check_with_libsvm.py target/tmp/written-for-libsvm

bench-direct: ## machines trained with few vectors beside Nystroem + LinearSVC; DATA=DIR has the sets
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn onnxruntime skl2onnx libsvm-official
	target/peers-venv/bin/python benches/peers/direct.py --data-dir $(DATA) $(if $(SETS),--sets $(SETS))

bench-export: ## time, size and agreement of exported machines, and the ONNX graph beside skl2onnx's SVM node
	cargo build --release -p kernelet-cli
	test -d target/peers-venv || python3 -m venv target/peers-venv
	target/peers-venv/bin/pip install --quiet scikit-learn onnxruntime skl2onnx libsvm-official
	target/peers-venv/bin/python benches/peers/export.py $(if $(REPEAT),--repeat $(REPEAT))

doc: ## the library's documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
