package pods

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// initialStatus returns the status of a pod that has just come to the node. What others wrote, such as the
// scheduler its condition, stays; what a former agent wrote does not.
func initialStatus(object *corev1.Pod, podIP, hostIP string, now metav1.Time) corev1.PodStatus {
	status := *object.Status.DeepCopy()
	status.Reason, status.Message = "", ""
	status.HostIP, status.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	status.PodIP, status.PodIPs = podIP, []corev1.PodIP{{IP: podIP}}
	if status.StartTime == nil {
		status.StartTime = &now
	}
	return status
}

// nextStatus returns the status of object that follows from those of its containers.
func nextStatus(object *corev1.Pod, inits, mains []corev1.ContainerStatus, now metav1.Time) corev1.PodStatus {
	status := *object.Status.DeepCopy()
	status.ObservedGeneration = object.Generation
	status.InitContainerStatuses, status.ContainerStatuses = inits, mains
	status.Phase = phase(inits, mains)
	status.Message = messageOfSimulated(slices.Concat(inits, mains))

	uninitialized := names(inits, func(c corev1.ContainerStatus) bool { return !succeeded(c) })
	unready := names(mains, func(c corev1.ContainerStatus) bool { return !c.Ready })
	finished := status.Phase == corev1.PodSucceeded
	set := func(kind corev1.PodConditionType, reason string, missing []string) {
		setCondition(&status, object.Generation, now, condition(kind, reason, missing, finished))
	}
	set(corev1.PodInitialized, "ContainersNotInitialized", uninitialized)
	set(corev1.ContainersReady, "ContainersNotReady", unready)
	set(corev1.PodReady, "ContainersNotReady", unready)
	return status
}

// phase sums up the containers. A terminated one is never started again: if it were to be, it would be
// waiting.
func phase(inits, mains []corev1.ContainerStatus) corev1.PodPhase {
	if slices.ContainsFunc(inits, failed) {
		return corev1.PodFailed
	}
	if !all(inits, succeeded) || slices.ContainsFunc(mains, neverStarted) {
		return corev1.PodPending
	}
	switch {
	case all(mains, succeeded):
		return corev1.PodSucceeded
	case all(mains, func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil }):
		return corev1.PodFailed
	default:
		return corev1.PodRunning
	}
}

// condition returns the condition of this kind: true if nothing is missing. Of a pod that has finished, only
// its initialization stays true.
func condition(
	kind corev1.PodConditionType, reason string, missing []string, finished bool,
) corev1.PodCondition {
	switch {
	case finished && kind == corev1.PodInitialized:
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "PodCompleted"}
	case finished:
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "PodCompleted"}
	case len(missing) > 0:
		message := fmt.Sprintf(
			"containers with incomplete or unready status: [%s]", strings.Join(missing, " "),
		)
		return corev1.PodCondition{
			Type:    kind,
			Status:  corev1.ConditionFalse,
			Reason:  reason,
			Message: message,
		}
	default:
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue}
	}
}

// setCondition puts next in the place of the condition of its type, with the time of the last change of its
// value.
func setCondition(status *corev1.PodStatus, generation int64, now metav1.Time, next corev1.PodCondition) {
	next.ObservedGeneration = generation
	next.LastTransitionTime = now
	for i, former := range status.Conditions {
		if former.Type != next.Type {
			continue
		}
		if former.Status == next.Status {
			next.LastTransitionTime = former.LastTransitionTime
		}
		status.Conditions[i] = next
		return
	}
	status.Conditions = append(status.Conditions, next)
}

// messageOfSimulated says which of containers are none but in name.
func messageOfSimulated(containers []corev1.ContainerStatus) string {
	var messages []string
	for _, container := range containers {
		if strings.HasPrefix(container.ImageID, simulatedScheme) {
			messages = append(messages, simulatedMessage(container.Image))
		}
	}
	slices.Sort(messages)
	return strings.Join(slices.Compact(messages), "; ")
}

func isReady(status corev1.PodStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func succeeded(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

func failed(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
}

func neverStarted(c corev1.ContainerStatus) bool {
	return c.State.Waiting != nil && c.LastTerminationState.Terminated == nil
}

func all(containers []corev1.ContainerStatus, test func(corev1.ContainerStatus) bool) bool {
	return !slices.ContainsFunc(containers, func(c corev1.ContainerStatus) bool { return !test(c) })
}

func names(containers []corev1.ContainerStatus, test func(corev1.ContainerStatus) bool) []string {
	var names []string
	for _, container := range containers {
		if test(container) {
			names = append(names, container.Name)
		}
	}
	return names
}
