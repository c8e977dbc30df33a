//go:build tools

// Package tools names the programs that go.mod pins.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
	_ "k8s.io/kube-state-metrics/v2"
)
