package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// askPodSecurity returns the refusal of the plugin PodSecurity, for a new pod that violates the level that its namespace
// enforces. The plugin's default is not to enforce any.
// Source: EvaluatePod in k8s.io/pod-security-admission/admission/admission.go.
func (p *policies) askPodSecurity(attributes admission.Attributes) ([]refusal, error) {
	created, isPod := attributes.GetObject().(*api.Pod)
	if !isPod || attributes.GetOperation() != admission.Create || attributes.GetSubresource() != "" {
		return nil, nil
	}
	found, exists, err := p.namespaces.GetByKey(attributes.GetNamespace())
	if err != nil || !exists {
		return nil, err
	}
	privileged := podsecurity.LevelVersion{Level: podsecurity.LevelPrivileged, Version: podsecurity.LatestVersion()}
	defaults := podsecurity.Policy{Enforce: privileged, Audit: privileged, Warn: privileged}
	levels, _ := podsecurity.PolicyToEvaluate(found.(*corev1.Namespace).Labels, defaults)
	pod := &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(created, pod, nil); err != nil {
		return nil, err
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(levels.Enforce, &pod.ObjectMeta, &pod.Spec))
	if result.Allowed {
		return nil, nil
	}
	message := fmt.Sprintf("violates PodSecurity %q: %s", levels.Enforce.String(), result.ForbiddenDetail())
	return []refusal{{Policy: "PodSecurity", Denied: true, Message: message}}, nil
}
