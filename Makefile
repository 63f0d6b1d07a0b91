# Everything goes through Go; nothing else is needed for demo and test.
GO      ?= go
BIN     := bin/dprelease
VERSION ?= $(shell git describe --tags --match 'v*' --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.release=$(VERSION)

# Without cgo: one static file, and every package is compiled once, for the program and for
# its tests.
export CGO_ENABLED = 0

# Without what debuggers read (GOFLAGS= make for them) and with more garbage (1.1 GB at most) everything compiles in five sixths of
# the time, to the same code.
export GOFLAGS ?= -gcflags=all=-dwarf=false
COMPILE := GOGC=400 $(GO) build

.PHONY: help papers rivals all build core design stores publish lab demo test test-all race bench check lines beam dist dist-twice generate clean

all: build

help: ## say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: core design stores publish ## the program and its companions, in bin

core: ## the program and its mechanisms, as bin/dprelease and bin/dprelease-mechanisms
	@mkdir -p bin
	$(COMPILE) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/dprelease ./cmd/dprelease-mechanisms

design: core ## the companion for those who write jobs and mechanisms, as bin/dprelease-design
	$(COMPILE) -ldflags '$(LDFLAGS)' -o bin/dprelease-design ./cmd/dprelease-design

stores: core ## the companion for object storage and Iceberg, as bin/dprelease-stores
	cd stores && $(COMPILE) -ldflags '-s -w' -o ../bin/dprelease-stores .

publish: core ## the companion that publishes: tables, registry, hazards, attestation, comparison, as bin/dprelease-publish
	cd publish && $(COMPILE) -ldflags '-s -w' -o ../bin/dprelease-publish .

lab: ## benchmarks and studies, as bin/lab/NAME
	@mkdir -p bin/lab
	cd lab && $(COMPILE) -o ../bin/lab/ ./...

# The main job on real data, into a folder of its own so that it can be run again.
demo: core ## the main job on real data
	@rm -rf examples/schools/out examples/schools-survey/out
	$(BIN) run examples/schools/job.yaml
	$(BIN) run examples/schools-survey/job.yaml

# Many tests wait for processes that they started: more packages at once than processors.
# Packages that did not change are not run again. The program collects garbage as rarely, which takes up to a third
# off the time of a package.
test test-all root modules race: export GOGC ?= 400
test: ## the fast tier of the tests: at most five minutes
	$(GO) test -short -p 4 -parallel 4 ./...
	cd stores && $(GO) test ./...
	cd publish && $(GO) test -short ./...
	cd lab && $(GO) test -short ./...
	@echo "note: this was the fast tier; make test-all tries every case, other programs and other languages"

# What go test is given: everything, and in .ci/run, where make test ran before, what that left out.
TESTED ?= echo ./...
test-all: root modules languages ## all tests; make -j2 runs two targets at a time
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
		echo "note: PostgreSQL's server programs are not on this machine; the ledger's tests on it were left out"
	@[ -d bin/beam-engines/spark ] || echo "note: make beam-engines was not run; no job was run on Flink and Spark"
	@command -v chromium >/dev/null && [ -d report/browsertest/node_modules ] || \
		echo "note: chromium, or npm ci in report/browsertest, is missing; the report was not opened in a browser"
	@command -v soffice >/dev/null && [ -d publish/tables/validate/node_modules ] || \
		echo "note: LibreOffice, or npm ci in publish/tables/validate, is missing; published tables were not opened by other programs"
	@[ -d internal/testkit/truth/node_modules ] || echo "note: npm ci in internal/testkit/truth is missing; releases were not compared with DuckDB"
	@/usr/bin/python3 -c 'import google.protobuf, grpc, numpy, scipy' 2>/dev/null && [ -x /usr/bin/node ] && [ -x /usr/bin/protoc ] || \
		echo "note: Python with grpcio, protobuf, numpy and scipy, or Node, or protoc is missing; the plugins in those languages were not run"

.PHONY: root modules languages
root: ## all tests of the main module
	tests="$$($(TESTED))" && $(GO) test -shuffle=on -p 4 -parallel 4 -timeout 60m $$tests

modules: ## all tests of the other modules
	cd packaging && $(GO) test ./...
	cd engines/beam && $(GO) test -timeout 60m ./...
	cd stores && $(GO) test ./...
	cd publish && $(GO) test ./...
	cd lab && $(GO) test ./...

# The packages for R and Python call the program that is built here.
languages: core ## the tests of the packages for R and Python
	@if /usr/bin/python3 -c 'import pytest' 2>/dev/null; then \
		PATH="$(CURDIR)/bin:$$PATH" PYTHONPATH=bindings/python PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -p no:cacheprovider bindings/python/tests; \
	else echo "note: pytest is missing; the package for Python was not tried"; fi
	@if Rscript -e 'library(jsonlite)' >/dev/null 2>&1; then \
		folder=$$(mktemp -d) && cp -r bindings/r $$folder/dprelease && cd $$folder && R CMD build dprelease && \
		LC_ALL=C.UTF-8 _R_CHECK_FORCE_SUGGESTS_=false DPRELEASE=$(CURDIR)/bin/dprelease R CMD check --no-manual dprelease_*.tar.gz && rm -r $$folder; \
	else echo "note: R with jsonlite is missing; the package for R was not tried"; fi

# The packages that start goroutines after a debit. Enumerations repeat one run thousands of
# times, so they have no race of their own and are left out. It wants a C compiler.
RACED := ./internal/run/... ./internal/plugin/host ./internal/plugin/calls ./internal/rows/units ./internal/pipeline
LONG  := Neighbours|Pinned|Enumerat|Charge|Beat|Broken|Weights|Strata|Caps|Random|Changes|Interval|FirstRows|36Months|Shared|Rho|Designs
race: ## the race detector over what starts goroutines after a debit
	CGO_ENABLED=1 $(GO) test -race -short -shuffle=on -skip '$(LONG)' $(RACED)

check: ## gofmt, go vet, staticcheck, and no counted weight that grew
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	cd engines/beam && $(GO) vet ./...
	cd packaging && $(GO) vet ./...
	cd stores && $(GO) vet ./...
	cd publish && $(GO) vet ./...
	cd lab && $(GO) vet ./...
	./lab/lines.sh -check

bench: build lab ## benchmarks, each beside its reference
	./lab/run.sh

lines: ## lines of Go by hand by folder, and what else weighs on a reader
	./lab/lines.sh

# What privacy costs the example regressions: the table and plot of lab/studies/sgd-accuracy.md.
.PHONY: sgd-accuracy
sgd-accuracy: lab ## what privacy costs the example regressions
	bin/lab/accuracy -out lab/studies examples/sgd-schools/job.yaml examples/sgd-income/job.yaml
	bin/lab/accuracy -out lab/studies -side examples/sgd-schools/job.yaml#met_target_last examples/sgd-batches/job.yaml#cyclic \
		examples/sgd-batches/job.yaml#one_pass examples/sgd-batches/job.yaml#one_pass_rising

# How often intervals hold the population's value: lab/studies/coverage.md. It takes some minutes.
.PHONY: coverage
coverage: lab ## how often intervals hold the population's value (minutes)
	bin/lab/coverage -out lab/studies

# Linear models by regression and by sgd on the same tables: lab/studies/linear-models.md. It
# takes some ten minutes.
.PHONY: linear-models
linear-models: lab ## regression and sgd on the same tables (ten minutes)
	bin/lab/linear -out lab/studies

# The papers' figures from our own accountant and mechanisms, what the papers left open, and
# the accountant beside its rivals: lab/studies/papers.md, lab/studies/open-questions.md, lab/studies/accountant.md.
papers: build lab ## the figures of the papers, open questions, the accountant's rivals (minutes)
	bin/lab/papers

rivals: build lab ## the same tasks with other tools, which it installs from Python's index (a quarter of an hour)
	bin/lab/papers -only accountant.md
	bin/lab/rivals

# Pictures of the reports of five jobs, for docs/screenshots. It wants chromium, node and
# npm ci in report/browsertest; the values in the pictures are of a fresh run each time.
PICTURED := schools counts median statistics trips
.PHONY: screenshots
screenshots: build ## pictures of the reports of five jobs
	@mkdir -p docs/screenshots
	@folder=$$(mktemp -d) && cp -r examples $$folder && \
	for job in $(PICTURED); do rm -rf $$folder/examples/$$job/out $$folder/examples/$$job/dprelease.db* && \
		$(BIN) run -q $$folder/examples/$$job/job.yaml || exit 1; done && \
	(cd report/browsertest && node screenshots.mjs "$$(command -v chromium)" ../../docs/screenshots \
		$(foreach job,$(PICTURED),$(job)=$$folder/examples/$(job)/out/report.html)) && rm -rf $$folder

beam: core ## the engine for Apache Beam, as bin/dprelease-beam
	cd engines/beam && $(COMPILE) -ldflags '-s -w' -o ../../bin/dprelease-beam .

# By version and by the sum of the files' sums. It wants Maven, and Java 17 to run them.
.PHONY: beam-engines
beam-engines: ## Flink and Spark for the tests of the engine, in bin/beam-engines (410 MB)
	@for engine in flink spark; do \
		mvn -B -q -f engines/beam/jobservers/pom.xml -P $$engine org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
			-DoutputDirectory=$(CURDIR)/bin/beam-engines/$$engine && \
		(cd bin/beam-engines/$$engine && LC_ALL=C sha256sum *.jar) | sha256sum -c --quiet engines/beam/jobservers/$$engine.sha256 || \
		{ rm -rf bin/beam-engines/$$engine; exit 1; }; \
	done

dist dist-twice: GOFLAGS := # as who builds a release again from its sources
dist: ## what a release publishes, in dist/: programs, packages, checksums
	./packaging/dist.sh

dist-twice: ## two builds of what a release publishes, compared byte by byte
	./packaging/dist.sh dist >/dev/null
	./packaging/dist.sh dist-again >/dev/null
	cmp dist/SHA256SUMS dist-again/SHA256SUMS && cat dist/SHA256SUMS
	rm -r dist-again

generate: core design ## everything that is generated, from its one declaration
	$(GO) generate ./...

clean: ## remove what was built and what the examples made
	rm -rf bin examples/*/out examples/*/dprelease.db* examples/*/.dprelease-releases
