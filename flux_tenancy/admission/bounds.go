package main

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
)

// bounds are the LimitRanges and ResourceQuotas by namespace.
type bounds struct {
	limits     map[string][]*corev1.LimitRange
	quotas     map[string][]corev1.ResourceQuota
	evaluators quota.Registry
}

func newBounds(quotas, limits []json.RawMessage) (*bounds, error) {
	result := &bounds{limits: map[string][]*corev1.LimitRange{}, quotas: map[string][]corev1.ResourceQuota{}}
	for _, raw := range append(quotas, limits...) {
		found, err := decodeExternal(raw)
		if err != nil {
			return nil, err
		}
		switch found := found.(type) {
		case *corev1.LimitRange:
			result.limits[found.Namespace] = append(result.limits[found.Namespace], found)
		case *corev1.ResourceQuota:
			// As the controller writes the status.
			used := corev1.ResourceList{}
			for name := range found.Spec.Hard {
				used[name] = resource.Quantity{}
				if given, counted := found.Status.Used[name]; counted {
					used[name] = given
				}
			}
			found.Status = corev1.ResourceQuotaStatus{Hard: found.Spec.Hard, Used: used}
			result.quotas[found.Namespace] = append(result.quotas[found.Namespace], *found)
		default:
			return nil, fmt.Errorf("quotas and limits contain a %T", found)
		}
	}
	// ResourceClaims are counted as objects: their devices are in objects that only a cluster has.
	evaluators, err := core.NewEvaluators(nil, nil, func(resource schema.GroupVersionResource) bool {
		return resource.GroupResource() != resourcev1.Resource("resourceclaims")
	})
	if err != nil {
		return nil, err
	}
	result.evaluators = generic.NewRegistry(evaluators)
	return result, nil
}

// limit gives a new pod the defaults of LimitRanges, and returns what they refuse, as the plugin LimitRanger does.
func (b *bounds) limit(call call) *refusal {
	if call.operation != admission.Create || call.subresource != "" {
		return nil
	}
	for _, each := range b.limits[call.namespace] {
		var err error
		switch object := call.object.(type) {
		case *api.Pod:
			if err = limitranger.PodMutateLimitFunc(each, object); err == nil {
				err = limitranger.PodValidateLimitFunc(each, object)
			}
		case *api.PersistentVolumeClaim:
			err = limitranger.PersistentVolumeClaimValidateLimitFunc(each, object)
		}
		if err != nil {
			return &refusal{Policy: "LimitRanger", Denied: true, Message: err.Error()}
		}
	}
	return nil
}

// charge counts new objects, each like this one, and returns what quotas refuse, as the plugin ResourceQuota does.
func (b *bounds) charge(attributes admission.Attributes, count int) *refusal {
	quotas := b.quotas[attributes.GetNamespace()]
	if len(quotas) == 0 || attributes.GetOperation() != admission.Create || attributes.GetSubresource() != "" {
		return nil
	}
	resource := attributes.GetResource().GroupResource()
	evaluator := b.evaluators.Get(resource)
	if evaluator == nil {
		evaluator = generic.NewObjectCountEvaluator(resource, nil, "")
	}
	for i := range count {
		counted, err := resourcequota.CheckRequest(quotas, attributes, evaluator, nil)
		if err != nil {
			message := ownWords(err.Error(), " is forbidden: ")
			if count > 1 {
				message = fmt.Sprintf("%d of %d: %s", count-i, count, message)
			}
			return &refusal{Policy: "ResourceQuota", Denied: true, Message: message}
		}
		quotas = counted
		b.quotas[attributes.GetNamespace()] = counted
	}
	return nil
}
