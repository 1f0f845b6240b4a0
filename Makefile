# Everthread. `make help` lists the targets.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TAGS    := goolm
LDFLAGS := -s -w -X main.version=$(VERSION)

.PHONY: help run build release test check test-nightly citus lint fmt bench soak

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/everthread, one static binary
	CGO_ENABLED=0 go build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o bin/everthread ./cmd/everthread

release: ## dist/VERSION: programs for eight platforms, image, bill of materials, checksums
	@scripts/release.sh '$(VERSION)'

run: build ## build and serve
	./bin/everthread serve

test: ## lint and run every suite, on SQLite and PostgreSQL, with the peers
	@scripts/test.sh

check: ## lint and run the tests that need no peer, on SQLite
	@scripts/lint.sh run
	go test ./...

test-nightly: ## every test in full with the race detector, every fuzz target
	@scripts/nightly.sh

citus: ## the store's contract on Citus, built from the source in CITUS_SOURCE=DIR
	@scripts/citus.sh test '$(CITUS_SOURCE)'

lint: ## run golangci-lint
	@scripts/lint.sh run

fmt: ## format the Go code
	@scripts/lint.sh fmt

bench: ## run benchmarks; BENCH=name, PKG=./core/text/day
	@scripts/bench.sh '$(or $(BENCH),.)' '$(or $(PKG),./...)'

soak: ## simulate a year of tasks and reminders (PEOPLE=1000, DAYS=365, KILLS=500, SEED=1), a small model, damaged files, kills
	@scripts/soak.sh '$(or $(PEOPLE),1000)' '$(or $(DAYS),365)' '$(or $(KILLS),500)' '$(or $(SEED),1)'
