// Package limits runs each container in a control group of the kernel, with the memory and the CPU time that its
// manifest allows.
package limits

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// What kubelets give runtimes: the quota of each period of 100 ms, and the shortest one that the kernel takes.
// https://docs.kernel.org/scheduler/sched-bwc.html
const (
	periodMicroseconds   = 100_000
	shortestMicroseconds = 1_000
)

// Limits are what a container may use at most. Zero is no limit.
type Limits struct {
	// Memory is in bytes, CPU in thousandths of a core.
	Memory, CPU int64
}

// Of returns the limits that a manifest sets.
func Of(limits corev1.ResourceList) Limits {
	return Limits{Memory: limits.Memory().Value(), CPU: limits.Cpu().MilliValue()}
}

// quota returns the CPU time in microseconds that the container gets in each period.
func (l Limits) quota() string {
	return strconv.FormatInt(max(l.CPU*periodMicroseconds/1000, shortestMicroseconds), 10)
}

func (l Limits) memory() string { return strconv.FormatInt(l.Memory, 10) }
