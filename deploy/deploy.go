// Package deploy holds what the gateway runs under: files for systemd, Prometheus
// and Grafana. The program writes the unit when it is asked to.
package deploy

import _ "embed"

// Unit is everthread.service, the unit of systemd for a whole machine.
//
//go:embed everthread.service
var Unit string
