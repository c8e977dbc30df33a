package pods

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestBackoff(t *testing.T) {
	backoff := newBackoff()
	var got []time.Duration
	for range 8 {
		got = append(got, backoff.Step()/time.Second)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 30}; !slices.Equal(got, want) {
		t.Fatalf("waits are %d s, want %d s", got, want)
	}
}

func TestRestarts(t *testing.T) {
	cases := []struct {
		policy   corev1.RestartPolicy
		exitCode int
		want     bool
	}{
		{corev1.RestartPolicyAlways, 0, true},
		{corev1.RestartPolicyAlways, 1, true},
		{corev1.RestartPolicyOnFailure, 0, false},
		{corev1.RestartPolicyOnFailure, 1, true},
		{corev1.RestartPolicyNever, 0, false},
		{corev1.RestartPolicyNever, 1, false},
		{initPolicy(corev1.RestartPolicyAlways), 0, false},
		{initPolicy(corev1.RestartPolicyAlways), 1, true},
		{initPolicy(corev1.RestartPolicyNever), 1, false},
	}
	for _, c := range cases {
		if got := restarts(c.policy, c.exitCode); got != c.want {
			t.Errorf("%s after exit code %d: %t, want %t", c.policy, c.exitCode, got, c.want)
		}
	}
}
