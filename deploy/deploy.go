// Package deploy holds the files that the gateway runs under: those of systemd, Docker
// Compose, Prometheus and Grafana. `everthread init` writes the first two.
package deploy

import _ "embed"

// Unit is everthread.service, the unit of systemd for a whole machine.
//
//go:embed everthread.service
var Unit string

// Compose is compose.yml.tmpl, a template of a file for Docker Compose.
//
//go:embed compose.yml.tmpl
var Compose string

// Env is env.sh, the script that writes .env.
//
//go:embed env.sh
var Env string
