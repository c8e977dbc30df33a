package pods

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func state(name string, state corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: state, Ready: state.Running != nil}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func ended(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
}

// crashing waits to be started once more.
func crashing(name string) corev1.ContainerStatus {
	status := state(name, waiting(reasonCrashLoop))
	status.LastTerminationState = ended(1)
	return status
}

func TestPhase(t *testing.T) {
	type statuses = []corev1.ContainerStatus
	cases := []struct {
		name         string
		inits, mains statuses
		want         corev1.PodPhase
	}{
		{"nothing started", nil, statuses{state("a", waiting(reasonCreating))}, corev1.PodPending},
		{
			"one of two started",
			nil,
			statuses{state("a", running()), state("b", waiting(reasonCreating))},
			corev1.PodPending,
		},
		{"running", nil, statuses{state("a", running())}, corev1.PodRunning},
		{"crashing", nil, statuses{crashing("a")}, corev1.PodRunning},
		{"one completed", nil, statuses{state("a", ended(0)), state("b", running())}, corev1.PodRunning},
		{"all completed", nil, statuses{state("a", ended(0)), state("b", ended(0))}, corev1.PodSucceeded},
		{
			"one of the ended failed",
			nil,
			statuses{state("a", ended(0)), state("b", ended(1))},
			corev1.PodFailed,
		},
		{
			"initializing",
			statuses{state("i", running())},
			statuses{state("a", waiting(reasonInitializing))},
			corev1.PodPending,
		},
		{
			"crashing init",
			statuses{crashing("i")},
			statuses{state("a", waiting(reasonInitializing))},
			corev1.PodPending,
		},
		{
			"failed init",
			statuses{state("i", ended(1))},
			statuses{state("a", waiting(reasonInitializing))},
			corev1.PodFailed,
		},
		{"initialized", statuses{state("i", ended(0))}, statuses{state("a", running())}, corev1.PodRunning},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := phase(c.inits, c.mains); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	begin := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	later := metav1.NewTime(begin.Add(time.Minute))
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}
	object := &corev1.Pod{
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{scheduled}, Reason: "of a former agent"},
	}
	object.Status = initialStatus(object, "127.129.0.1", "127.0.0.1", begin)

	expect := func(now metav1.Time, container corev1.ContainerStatus, want map[corev1.PodConditionType]string) {
		t.Helper()
		object.Status = nextStatus(object, nil, []corev1.ContainerStatus{container}, now)
		got := map[corev1.PodConditionType]string{}
		for _, condition := range object.Status.Conditions {
			got[condition.Type] = string(
				condition.Status,
			) + " " + condition.Reason + " " + condition.LastTransitionTime.Format(
				"04:05",
			)
		}
		for kind, value := range want {
			if got[kind] != value {
				t.Errorf("%s is %q, want %q", kind, got[kind], value)
			}
		}
	}
	expect(begin, state("a", waiting(reasonCreating)), map[corev1.PodConditionType]string{
		corev1.PodScheduled: "True  00:00", corev1.PodInitialized: "True  00:00", corev1.PodReady: "False ContainersNotReady 00:00",
	})
	expect(later, state("a", running()), map[corev1.PodConditionType]string{
		corev1.PodInitialized: "True  00:00", corev1.PodReady: "True  01:00", corev1.ContainersReady: "True  01:00",
	})
	if !isReady(object.Status) {
		t.Error("the pod is not ready")
	}
	expect(later, state("a", ended(0)), map[corev1.PodConditionType]string{
		corev1.PodInitialized: "True PodCompleted 00:00", corev1.PodReady: "False PodCompleted 01:00",
	})
	if object.Status.Reason != "" || object.Status.PodIP != "127.129.0.1" ||
		!object.Status.StartTime.Equal(&begin) {
		t.Errorf("status is %+v", object.Status)
	}
}

func TestSimulatedContainersAreNamed(t *testing.T) {
	simulated := state("a", running())
	simulated.Image, simulated.ImageID = "nginx", simulatedScheme+"nginx"
	status := nextStatus(
		&corev1.Pod{},
		nil,
		[]corev1.ContainerStatus{simulated, simulated, state("b", running())},
		metav1.Now(),
	)
	if want := "simulated: no program is known for image nginx"; status.Message != want {
		t.Fatalf("message is %q, want %q", status.Message, want)
	}
}

func TestStatusPatchClearsAndKeepsToTheStatus(t *testing.T) {
	patch, err := statusPatch(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:       "a",
			UID:        "u",
			Labels:     map[string]string{"stale": "true"},
			Finalizers: []string{"stale"},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Message: "hello"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || len(got["metadata"]) != 1 || got["metadata"]["uid"] != "u" {
		t.Errorf("the patch touches more than the status: %s", patch)
	}
	reason, named := got["status"]["reason"]
	if got["status"]["message"] != "hello" || !named || reason != nil {
		t.Errorf("the patch does not say what is empty: %s", patch)
	}
}
