package probe

import corev1 "k8s.io/api/core/v1"

// Tally counts results in a row. A result counts for something only once it has come as often as its
// threshold.
type Tally struct {
	successThreshold int32
	failureThreshold int32

	passing bool
	run     int32
}

// NewTally makes the tally of a probe.
func NewTally(spec *corev1.Probe) *Tally {
	return &Tally{
		successThreshold: max(1, spec.SuccessThreshold),
		failureThreshold: max(1, spec.FailureThreshold),
	}
}

// Observe counts a result and says whether its threshold has been reached.
func (t *Tally) Observe(passed bool) bool {
	if passed != t.passing {
		t.passing, t.run = passed, 0
	}
	t.run++
	if passed {
		return t.run >= t.successThreshold
	}
	return t.run >= t.failureThreshold
}
