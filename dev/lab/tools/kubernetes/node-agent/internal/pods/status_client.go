package pods

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// StatusClient is a client of pods for virtual-kubelet. That writes statuses as updates of whole objects,
// which the API server takes labels, annotations and finalizers from as well: what others changed meanwhile
// would be undone. This client writes the status and nothing else, as a kubelet does.
type StatusClient struct {
	typedcorev1.PodsGetter
}

// Pods returns the client of a namespace.
func (c StatusClient) Pods(namespace string) typedcorev1.PodInterface {
	return statusPatcher{c.PodsGetter.Pods(namespace)}
}

type statusPatcher struct {
	typedcorev1.PodInterface
}

// UpdateStatus makes the status of the pod be that of object, if it is still the same pod.
func (p statusPatcher) UpdateStatus(
	ctx context.Context, object *corev1.Pod, _ metav1.UpdateOptions,
) (*corev1.Pod, error) {
	patch, err := statusPatch(object)
	if err != nil {
		return nil, fmt.Errorf("status of pod %s/%s: %w", object.Namespace, object.Name, err)
	}
	return p.Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
}

// statusPatch returns the merge patch that sets the status of object. Of the fields that come and go, those
// outside of lists are named even when they are empty: left out, they would stay as they were.
func statusPatch(object *corev1.Pod) ([]byte, error) {
	type status struct {
		corev1.PodStatus
		Message *string `json:"message"`
		Reason  *string `json:"reason"`
	}
	orNull := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.UID},
		"status":   status{object.Status, orNull(object.Status.Message), orNull(object.Status.Reason)},
	})
}
