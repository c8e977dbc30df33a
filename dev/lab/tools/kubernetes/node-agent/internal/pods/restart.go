package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second
	// backoffReset is how long a process must have lived for its next failure to count as the first.
	backoffReset = 2 * maxBackoff
)

// newBackoff returns the waits before a container is started again: 1 s, 2 s, 4 s and so on, 30 s at the
// most.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{
		Duration: firstBackoff,
		Factor:   2,
		Cap:      maxBackoff,
		Steps:    int(maxBackoff / firstBackoff),
	}
}

// restarts says whether a container that ended with exitCode is to be started again.
func restarts(policy corev1.RestartPolicy, exitCode int) bool {
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return exitCode != 0
	default:
		return true
	}
}

// initPolicy returns the policy of init containers: they end, so "always" means until they have succeeded.
func initPolicy(policy corev1.RestartPolicy) corev1.RestartPolicy {
	if policy == corev1.RestartPolicyAlways {
		return corev1.RestartPolicyOnFailure
	}
	return policy
}
