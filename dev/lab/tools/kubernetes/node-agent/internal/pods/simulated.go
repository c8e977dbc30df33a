package pods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// simulatedAnnotation marks the pods of which not every container is a process.
	simulatedAnnotation = "lab.flux-tenancy.dev/simulated"
	simulatedScheme     = "simulated://"
)

// simulated says whether the container is none but in name.
func (c *container) simulated() bool { return !c.known }

// simulate reports what the container would be if all went well: completed where it would end, running
// otherwise.
func (c *container) simulate() {
	c.pod.change(func() {
		started := true
		c.status.ContainerID = fmt.Sprintf("%s%s/%s", simulatedScheme, c.pod.uid, c.spec.Name)
		c.status.Started, c.status.Ready = &started, true
		c.status.State = corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()},
		}
		if c.policy != corev1.RestartPolicyAlways {
			c.endSimulation()
		}
	})
}

// endSimulation completes the container if it is simulated and runs; it is to be called inside pod.change.
func (c *container) endSimulation() {
	running := c.status.State.Running
	if !c.simulated() || running == nil {
		return
	}
	c.status.Started, c.status.Ready = new(bool), false
	c.status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "Completed", Message: simulatedMessage(c.spec.Image),
		StartedAt: running.StartedAt, FinishedAt: metav1.Now(), ContainerID: c.status.ContainerID,
	}}
}

// markSimulated annotates the object of the pod, once. A kubelet may change an object only by way of its status.
func (p *pod) markSimulated(ctx context.Context) {
	if p.snapshot().Annotations[simulatedAnnotation] == "true" {
		return
	}
	patch := fmt.Appendf(
		nil, `{"metadata": {"uid": %q, "annotations": {%q: "true"}}}`, p.uid, simulatedAnnotation,
	)
	_, err := p.Client.CoreV1().Pods(
		p.name.Namespace,
	).Patch(
		ctx,
		p.name.Name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
		"status",
	)
	if err != nil && ctx.Err() == nil {
		p.Log.Warn("a pod could not be marked as simulated", "pod", p.name, "error", err)
	}
}

func simulatedMessage(image string) string {
	return fmt.Sprintf("simulated: no program is known for image %s", image)
}
