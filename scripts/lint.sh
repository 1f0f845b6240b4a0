#!/usr/bin/env bash
# Lints the whole module with golangci-lint, built once into the cache folder
# with the Go of this machine: a binary built with an older Go would refuse the
# module's language version. Arguments are passed on.
#
#   scripts/lint.sh run ./core/text/day/...     one package
#   scripts/lint.sh fmt                    format

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=v2.1.6
dir=$cache/tools/golangci-lint-$version-$(go env GOVERSION)
if [ ! -x "$dir/golangci-lint" ]; then
	log "building golangci-lint $version"
	mkdir -p "$dir"
	GOFLAGS='' GOBIN=$dir quietly go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
fi
# Without cgo, like every build except those with the race detector.
export GOLANGCI_LINT_CACHE=$cache/golangci-lint CGO_ENABLED=0
cd "$root_dir"
exec "$dir/golangci-lint" "${@:-run}"
