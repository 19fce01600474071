# Toolwharf. `make` lists what there is to make. Go and make are all that build and
# demo need; what else a target needs, it says.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

MODULES  := $(shell awk '$$1 ~ /^\.\// {print substr($$1, 3)}' go.work)
# Outside the workspace: what a server for tests needs never meets what is shipped.
ALONE    := host/e2e/provider
PLUGINS  := $(notdir $(patsubst %/go.mod,%,$(wildcard plugins/*/go.mod)))
EXAMPLES := echo fixtures hello scanner tides
CROSS    := host sdk/go $(PLUGINS:%=plugins/%)

# grpcnotrace leaves out golang.org/x/net/trace, which nobody looks at, and all that it
# draws in.
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STAMP    := -s -w -X main.version=$(VERSION)
RELEASE  := -trimpath -tags grpcnotrace -ldflags "$(STAMP)"
# `plugins new` of a host builds with the SDK that lies beside it; a release that is
# built for others has CHECKOUT= empty.
CHECKOUT ?= $(CURDIR)
HOST     := -trimpath -tags grpcnotrace -ldflags "$(STAMP) -X 'main.checkout=$(CHECKOUT)'"
BIN      := $(CURDIR)/bin
TOOLS    := $(BIN)/tools

# The version is stamped above; a checkout that belongs to somebody else is no
# reason to fail.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

# The race detector needs cgo, and so a C compiler. Tests that look beyond their
# module, at binaries and at other modules, are not cached.
RACE      ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
TESTFLAGS ?=
FUZZTIME  ?= 1m
BENCHFLAGS ?=

.PHONY: help
help: ## Say what there is to make (this)
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' Makefile

## What is built

# The host refuses plugins that others may write to: umask.
.PHONY: build
build: ## Build the host, bin/toolwharf, and its plugins, bin/plugins/
	umask 022 && CGO_ENABLED=0 go -C host build $(HOST) -o $(BIN)/toolwharf ./cmd/toolwharf
	@umask 022 && mkdir -p $(BIN)/plugins && set -e; for p in $(PLUGINS); do \
		CGO_ENABLED=0 go -C plugins/$$p build $(RELEASE) -o $(BIN)/plugins/$$p .; done

.PHONY: examples
examples: ## Build the example plugins, bin/examples/
	@umask 022 && mkdir -p $(BIN)/examples && set -e; for e in $(EXAMPLES); do \
		CGO_ENABLED=0 go -C examples build $(RELEASE) -o $(BIN)/examples/$$e ./$$e; done

.PHONY: demo
demo: build ## Try it: a shop's database behind a host on 127.0.0.1:8000 (ONCE=1: one call, then end)
	CGO_ENABLED=0 go -C examples build -o $(BIN)/demo ./demo
	test -e examples/shop/shop.db || go -C examples run ./shop/generate -out shop/shop.db
	@$(BIN)/demo -host $(BIN)/toolwharf -shop examples/shop $(if $(ONCE),-once)

## What has to pass

.PHONY: test
test: build examples ## Test every module, with the race detector where there is a C compiler
	@scripts/test-setup
	@$(if $(RACE),:,echo 'NOTE: no C compiler, so no race detector' >&2)
	@status=0; for m in $(filter-out host,$(MODULES)); do go -C $$m test $(RACE) $(TESTFLAGS) ./... || status=1; done; \
		go -C host test $(RACE) -count=1 -timeout 20m $(TESTFLAGS) ./... || status=1; exit $$status

.PHONY: conformance
conformance: conformance-kit conformance-mcp ## Judge the plugins by the conformance kit, and the host by the official suite of MCP

.PHONY: conformance-kit
conformance-kit: build examples ## Judge the built plugins and examples by the conformance kit (docs/conformance.md)
	test -e examples/shop/shop.db || go -C examples run ./shop/generate -out shop/shop.db
	scripts/conformance

.PHONY: conformance-mcp
conformance-mcp: ## Judge the host by the official conformance suite of MCP, with examples/fixtures behind it
	@scripts/test-setup
	go -C host test -count=1 -v -run '^TestTheOfficialConformanceSuite' ./e2e

.PHONY: lint
lint: $(TOOLS)/golangci-lint $(TOOLS)/buf check-generated ## Check formatting, code, protocol, and that what is generated is current
	$(TOOLS)/buf lint
	@status=0; \
	fmt=$$(gofmt -l $(MODULES)); test -z "$$fmt" || { echo "gofmt: $$fmt" >&2; status=1; }; \
	for m in $(MODULES) $(ALONE); do echo "lint $$m"; \
		test $$m != $(ALONE) || export GOWORK=off; \
		go -C $$m vet ./... || status=1; \
		(cd $$m && $(TOOLS)/golangci-lint run -c $(CURDIR)/.golangci.yml ./...) || status=1; \
	done; exit $$status

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint $(TOOLS)/buf ## Format everything the way lint wants it
	@set -e; for m in $(MODULES) $(ALONE); do (cd $$m && $(TOOLS)/golangci-lint fmt -c $(CURDIR)/.golangci.yml ./...); done
	$(TOOLS)/buf format -w proto

.PHONY: generate
generate: generators ## Generate Go from proto/ and from the pages of the host
	PATH="$(TOOLS):$$PATH" $(TOOLS)/buf generate
	PATH="$(TOOLS):$$PATH" scripts/generate-pages host

.PHONY: check-generated
check-generated: generators
	PATH="$(TOOLS):$$PATH" scripts/check-generated

.PHONY: workspace
workspace: ## Build each module by itself, without the workspace
	@set -e; for m in $(MODULES) $(ALONE); do echo "$$m"; GOWORK=off go -C $$m build ./...; GOWORK=off go -C $$m vet ./...; done

.PHONY: cross
cross: ## Build host, SDK and plugins for macOS and Windows
	@set -e; for os in darwin windows; do for m in $(CROSS); do \
		echo "$$os $$m"; CGO_ENABLED=0 GOOS=$$os go -C $$m build ./...; done; done

.PHONY: tidy-check
tidy-check: ## Check that the go.mod and go.sum of each module have what it needs and nothing else
	@status=0; for m in $(MODULES) $(ALONE); do echo "$$m"; GOWORK=off go -C $$m mod tidy -diff || status=1; done; exit $$status

## How fast, and how long

# Nothing that they bring is run while they are installed. Their Node.js is among them;
# what they say of the one that runs npm does not matter.
.PHONY: peers
peers: ## Install what `make bench` compares with, bin/peers (needs npm; some 500 MB)
	@if ! command -v npm >/dev/null; then \
		echo "LEFT OUT: npm is not installed, so make bench goes without MCP Toolbox and dbhub" >&2; \
	elif ! cmp -s bench/peers/package-lock.json $(BIN)/peers/installed.json; then \
		mkdir -p $(BIN)/peers && cp bench/peers/package.json bench/peers/package-lock.json $(BIN)/peers && \
		npm ci --prefix $(BIN)/peers --ignore-scripts --no-audit --no-fund --loglevel error && \
		cp bench/peers/package-lock.json $(BIN)/peers/installed.json || \
		echo "LEFT OUT: npm ci has failed, so make bench goes without MCP Toolbox and dbhub" >&2; \
	fi

.PHONY: bench
bench: build examples peers ## Compare the host with a bare MCP server and with other servers of databases (BENCHFLAGS='-rounds 9'), then time and profile the executor
	CGO_ENABLED=0 go -C bench build -o $(BIN)/bench ./cmd/bench
	test -e $(BIN)/shop.db || go -C examples run ./shop/generate -out $(BIN)/shop.db
	$(BIN)/bench -host $(BIN)/toolwharf -plugin-dir $(BIN)/examples -peers $(BIN)/peers -sql $(BIN)/plugins/sql -shop $(BIN)/shop.db $(BENCHFLAGS)
	go -C host test -run '^$$' -bench . -benchmem -o $(BIN)/executor.test -cpuprofile $(BIN)/executor.cpu ./internal/executor
	go -C host tool pprof -top -nodecount 25 $(BIN)/executor.test $(BIN)/executor.cpu

.PHONY: soak
soak: ## Kill, swap and flood adapters for minutes, then fuzz every target (FUZZTIME=1m each)
	SOAK=1 go -C host test -count=1 -timeout 30m -v -run '^TestUnderStress' ./e2e
	@FUZZTIME=$(FUZZTIME) scripts/soak $(MODULES)

.PHONY: clean
clean: ## Remove what was built, but for the tools
	rm -rf $(BIN)/toolwharf $(BIN)/plugins $(BIN)/examples $(BIN)/demo $(BIN)/bench $(BIN)/peers $(BIN)/shop.db $(BIN)/executor.test $(BIN)/executor.cpu

## Pinned tools, built when first needed

.PHONY: generators
generators: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc $(TOOLS)/templ

$(TOOLS)/buf: tools/buf/go.mod tools/buf/go.sum
$(TOOLS)/golangci-lint: tools/lint/go.mod tools/lint/go.sum
$(TOOLS)/templ: tools/templ/go.mod tools/templ/go.sum
$(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc: tools/protoc/go.mod tools/protoc/go.sum

$(TOOLS)/%:
	@mkdir -p $(TOOLS)
	cd $(<D) && GOWORK=off go build -o $(TOOLS)/ tool
	@touch $@
