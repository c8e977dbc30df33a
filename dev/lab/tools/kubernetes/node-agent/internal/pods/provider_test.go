package pods

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/address"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/images"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/limits"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/podlog"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/process"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/sandbox"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/services"
)

// shell is the image that runs /bin/sh; what it does stands in the arguments of the manifest.
const shell = "example.com/shell:1"

// node is a provider whose pods are real processes, with a made-up API server.
func node(t *testing.T, objects ...*corev1.Pod) *Provider {
	t.Helper()
	dir := t.TempDir()
	table, err := json.Marshal(
		map[string]any{"images": []any{map[string]any{"image": shell, "binary": "/bin/sh"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "images.json"), table, 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := images.Open(filepath.Join(dir, "images.json"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := address.NewPool("127.129.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	logs, err := podlog.Open(filepath.Join(dir, "logs"))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	client := fake.NewClientset()
	for _, object := range objects {
		if err := client.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	lister := informers.NewSharedInformerFactory(client, 0).Core().V1()
	provider := NewProvider(t.Context(), Dependencies{
		Client: client, Pods: lister.Pods().Lister(), Recorder: &record.FakeRecorder{}, Images: known, Addresses: addresses,
		Launcher: process.NewLauncher(&limits.Node{}, log), Logs: logs, Log: log,
		Sandboxes: &sandbox.Builder{
			Root: filepath.Join(dir, "pods"), Client: client, HostIP: "127.0.0.1",
			Server:   &rest.Config{Host: "https://127.0.0.1:6443"},
			Services: services.NewResolver(lister.Services().Lister(), services.Ports{}),
		},
	})
	t.Cleanup(func() { provider.Shutdown(0) })
	return provider
}

func object(policy corev1.RestartPolicy, image string, args ...string) *corev1.Pod {
	grace := int64(5)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "app", UID: "uid"},
		Spec: corev1.PodSpec{
			RestartPolicy: policy, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: image, Args: args}},
		},
	}
}

// await waits until the pod is as test wants it.
func await(t *testing.T, provider *Provider, what string, test func(corev1.PodStatus) bool) corev1.PodStatus {
	t.Helper()
	var status *corev1.PodStatus
	for range 250 {
		var err error
		if status, err = provider.GetPodStatus(t.Context(), "dev", "app"); err != nil {
			t.Fatal(err)
		}
		if test(*status) {
			return *status
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the pod did not become %s: %+v", what, status)
	return *status
}

func inPhase(phase corev1.PodPhase) func(corev1.PodStatus) bool {
	return func(status corev1.PodStatus) bool { return status.Phase == phase }
}

func TestProcessThatFails(t *testing.T) {
	pod := object(corev1.RestartPolicyNever, shell, "-c", "echo first; echo last words; exit 3")
	provider := node(t, pod)
	if err := provider.CreatePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	status := await(t, provider, "failed", inPhase(corev1.PodFailed))
	end := status.ContainerStatuses[0].State.Terminated
	if end.ExitCode != 3 || end.Reason != "Error" || end.Message != "first\nlast words" {
		t.Fatalf("ended with %+v", end)
	}
}

func TestProcessThatCrashesIsStartedAgain(t *testing.T) {
	pod := object(corev1.RestartPolicyAlways, shell, "-c", "exit 1")
	provider := node(t, pod)
	if err := provider.CreatePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	status := await(t, provider, "restarted", func(status corev1.PodStatus) bool {
		return status.ContainerStatuses[0].RestartCount == 1 &&
			status.ContainerStatuses[0].State.Waiting != nil
	})
	container := status.ContainerStatuses[0]
	if container.State.Waiting.Reason != reasonCrashLoop ||
		container.LastTerminationState.Terminated.ExitCode != 1 ||
		container.Ready {
		t.Fatalf("container is %+v", container)
	}
}

func TestProcessSeesItsManifest(t *testing.T) {
	pod := object(
		corev1.RestartPolicyNever, shell, "-c", `echo "$(GREETING)" >/data/out; cat "$FILE"; exit 1`,
	)
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/data"}}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{
		{
			Name: "NAME",
			ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
			},
		},
		{Name: "GREETING", Value: "hello $(NAME)"},
		{Name: "FILE", Value: "/data/out"},
	}
	provider := node(t, pod)
	if err := provider.CreatePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	status := await(t, provider, "ended", inPhase(corev1.PodFailed))
	if message := status.ContainerStatuses[0].State.Terminated.Message; message != "hello app" {
		t.Fatalf("the process wrote %q", message)
	}
}

func TestPreStopHookDelaysTheEnd(t *testing.T) {
	pod := object(corev1.RestartPolicyAlways, shell, "-c", "while :; do read -r; done </dev/zero")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
		PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3600}},
	}
	provider := node(t, pod)
	if err := provider.CreatePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	await(t, provider, "running", inPhase(corev1.PodRunning))
	running, err := provider.find("dev", "app")
	if err != nil {
		t.Fatal(err)
	}
	running.stop(time.Hour)
	select {
	case <-running.done:
		t.Fatal("the process did not serve on")
	case <-time.After(200 * time.Millisecond):
	}
	if endpoints := provider.Endpoints("dev", labels.Everything(), true); len(endpoints) != 0 {
		t.Fatalf("a pod that ends is still an endpoint: %v", endpoints)
	}
	running.stop(0)
	<-running.done
}

func TestUnknownImages(t *testing.T) {
	cases := map[corev1.RestartPolicy]corev1.PodPhase{
		corev1.RestartPolicyAlways:    corev1.PodRunning,
		corev1.RestartPolicyOnFailure: corev1.PodSucceeded,
		corev1.RestartPolicyNever:     corev1.PodSucceeded,
	}
	for policy, phase := range cases {
		t.Run(string(policy), func(t *testing.T) {
			pod := object(policy, "nginx")
			provider := node(t, pod)
			if err := provider.CreatePod(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			status := await(t, provider, string(phase), inPhase(phase))
			if ready := isReady(status); ready != (phase == corev1.PodRunning) {
				t.Errorf("ready is %t", ready)
			}
			marked, err := provider.Client.CoreV1().Pods("dev").Get(t.Context(), "app", metav1.GetOptions{})
			if err != nil || marked.Annotations[simulatedAnnotation] != "true" {
				t.Errorf("the object is not marked: %v %v", marked.Annotations, err)
			}
			if _, _, err := provider.OpenLog("dev", "app", "main", false); err == nil {
				t.Error("a simulated container has a log")
			}
		})
	}
}

func TestUnknownImageWaitsForItsToken(t *testing.T) {
	pod := object(corev1.RestartPolicyAlways, "nginx")
	pod.Spec.ServiceAccountName = "runner"
	token := corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "access", VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{token}},
		}},
		{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}},
	}
	provider := node(t, pod)
	events := record.NewFakeRecorder(100)
	provider.Recorder = events
	var granted atomic.Bool
	provider.Client.(*fake.Clientset).PrependReactor("create", "serviceaccounts",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			request := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
			if bound := request.Spec.BoundObjectRef; !granted.Load() || bound.Name != "app" || bound.UID != "uid" {
				return true, nil, errors.New("tokens are given to nobody")
			}
			return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
				Token: "secret", ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour)),
			}}, nil
		},
	)
	if err := provider.CreatePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	const refused = `MountVolume.SetUp failed for volume "access": ` +
		"token of service account runner: tokens are given to nobody"
	await(t, provider, "refused", func(status corev1.PodStatus) bool {
		waiting := status.ContainerStatuses[0].State.Waiting
		return status.Phase == corev1.PodPending && waiting != nil && waiting.Reason == reasonCreating &&
			waiting.Message == refused
	})
	if event := <-events.Events; event != "Warning FailedMount "+refused {
		t.Errorf("the event is %q", event)
	}
	granted.Store(true)
	await(t, provider, "running", inPhase(corev1.PodRunning))
}

func TestDeletedPodLeavesNothingBehind(t *testing.T) {
	pod := object(
		corev1.RestartPolicyAlways, shell, "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done",
	)
	provider := node(t, pod)
	if err := provider.CreatePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	await(t, provider, "ready", isReady)
	if err := provider.DeletePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	for range 250 {
		if _, err := provider.Client.CoreV1().Pods("dev").Get(context.Background(), "app", metav1.GetOptions{}); err != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := provider.GetPod(t.Context(), "dev", "app"); err == nil {
		t.Error("the node still has the pod")
	}
	if left, _ := os.ReadDir(provider.Sandboxes.Root); len(left) > 0 {
		t.Errorf("the pod left %s", left[0].Name())
	}
	if _, err := os.Stat(provider.Logs.Current(pod, "main")); err != nil {
		t.Errorf("the log is gone: %v", err)
	}
}
