package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/images"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/services"
)

func TestRewritePaths(t *testing.T) {
	mounts := longestFirst(
		[]mount{{"/data", "/host/data"}, {"/data/cache", "/host/cache"}, {"/tmp", "/host/tmp"}},
	)
	cases := map[string]string{
		"--storage-path=/data": "--storage-path=/host/data",
		"/data":                "/host/data",
		"/data/":               "/host/data/",
		"/data/cache/x":        "/host/cache/x",
		"/data/cached":         "/host/data/cached",
		"/tmp/.sigstore":       "/host/tmp/.sigstore",
		"a=/data,b=/tmp/x":     "a=/host/data,b=/host/tmp/x",
		"/data:/tmp":           "/host/data:/host/tmp",
		`{"dir": "/data"}`:     `{"dir": "/host/data"}`,
		"--dir /data --other":  "--dir /host/data --other",
		"unix:/tmp/s.sock":     "unix:/host/tmp/s.sock",
		"cat </data/a >/tmp/b": "cat </host/data/a >/host/tmp/b",
		"/database":            "/database",
		"/var/data":            "/var/data",
		"http://host/data":     "http://host/data",
		"data":                 "data",
		"":                     "",
	}
	for text, want := range cases {
		if got := rewritePaths(text, mounts); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// testPod is a pod that uses what the tests are about.
func testPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "dev",
			Name:      "app",
			UID:       "uid",
			Labels:    map[string]string{"tier": "web"},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "runner", NodeName: "lab",
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
			}}},
		},
		Status: corev1.PodStatus{PodIP: "127.129.0.7"},
	}
}

func testSandbox(t *testing.T, pod *corev1.Pod, objects ...runtime.Object) *Sandbox {
	t.Helper()
	client := fake.NewClientset(objects...)
	client.PrependReactor(
		"create",
		"serviceaccounts",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			request := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
			lifetime := time.Duration(*request.Spec.ExpirationSeconds) * time.Second
			return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
				Token: "token for " + string(
					request.Spec.BoundObjectRef.UID,
				) + " " + strings.Join(request.Spec.Audiences, ","),
				ExpirationTimestamp: metav1.NewTime(time.Now().Add(lifetime)),
			}}, nil
		},
	)
	lister := informers.NewSharedInformerFactory(client, 0).Core().V1().Services().Lister()
	builder := &Builder{
		Root: t.TempDir(), Client: client, HostIP: "127.0.0.1",
		Server: &rest.Config{
			Host:            "https://127.0.0.1:6443",
			TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")},
		},
		Services: services.NewResolver(lister, services.Ports{}),
		Machine: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("2"),
			corev1.ResourceMemory: resource.MustParse("8Gi"),
		},
	}
	return builder.New(pod, false)
}

func ptr[T any](value T) *T { return &value }

func TestVariables(t *testing.T) {
	sandbox := testSandbox(
		t,
		testPod(),
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "cm"},
			Data:       map[string]string{"a": "1", "b": "2"},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "s"},
			Data:       map[string][]byte{"k": []byte("hush")},
		},
	)
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	limit := func(name string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: name}}
	}
	configMapKey := func(name, key string, optional bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
		}}
	}
	secretKey := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k",
	}}
	cases := []struct {
		name     string
		variable corev1.EnvVar
		want     string
	}{
		{"value", corev1.EnvVar{Value: "x"}, "x"},
		{"reference to an earlier one", corev1.EnvVar{Value: "<$(CM_a)>"}, "<1>"},
		{"API server", corev1.EnvVar{Value: "$(KUBERNETES_SERVICE_HOST)"}, "127.0.0.1"},
		{"reference to none", corev1.EnvVar{Value: "$(NONE)"}, "$(NONE)"},
		{"escaped reference", corev1.EnvVar{Value: "$$(CM_a)"}, "$(CM_a)"},
		{"name", corev1.EnvVar{ValueFrom: field("metadata.name")}, "app"},
		{"label", corev1.EnvVar{ValueFrom: field("metadata.labels['tier']")}, "web"},
		{"service account", corev1.EnvVar{ValueFrom: field("spec.serviceAccountName")}, "runner"},
		{"node", corev1.EnvVar{ValueFrom: field("spec.nodeName")}, "lab"},
		{"pod IP", corev1.EnvVar{ValueFrom: field("status.podIP")}, "127.129.0.7"},
		{"host IP", corev1.EnvVar{ValueFrom: field("status.hostIP")}, "127.0.0.1"},
		{"limit", corev1.EnvVar{ValueFrom: limit("limits.memory")}, "67108864"},
		{"limit that is not set", corev1.EnvVar{ValueFrom: limit("limits.cpu")}, "2"},
		{"ConfigMap key", corev1.EnvVar{ValueFrom: configMapKey("cm", "b", false)}, "2"},
		{"optional ConfigMap", corev1.EnvVar{ValueFrom: configMapKey("none", "b", true)}, "(unset)"},
		{"optional key", corev1.EnvVar{ValueFrom: configMapKey("cm", "none", true)}, "(unset)"},
		{"missing ConfigMap", corev1.EnvVar{ValueFrom: configMapKey("none", "b", false)}, "(error)"},
		{"missing key", corev1.EnvVar{ValueFrom: configMapKey("cm", "none", false)}, "(error)"},
		{"Secret key", corev1.EnvVar{ValueFrom: secretKey}, "hush"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.variable.Name = "X"
			container := &corev1.Container{
				Name: "main",
				Env:  []corev1.EnvVar{c.variable},
				EnvFrom: []corev1.EnvFromSource{
					{
						Prefix: "CM_",
						ConfigMapRef: &corev1.ConfigMapEnvSource{
							LocalObjectReference: corev1.LocalObjectReference{Name: "cm"},
						},
					},
				},
			}
			variables, err := sandbox.variables(t.Context(), container)
			got, set := variables["X"]
			switch {
			case err != nil:
				got = "(error)"
			case !set:
				got = "(unset)"
			}
			if got != c.want {
				t.Fatalf("got %q, want %q (%v)", got, c.want, err)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	pod := testPod()
	container := &pod.Spec.Containers[0]
	container.Command = []string{"/entrypoint"}
	container.Args = []string{"--data=/data", "--name=$(NAME)"}
	container.Env = []corev1.EnvVar{
		{Name: "NAME", Value: "n"},
		{Name: "CACHE", Value: "/tmp/c"},
		{Name: "PATH", Value: "/opt"},
	}
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: "d", MountPath: "/data", SubPath: "sub"}, {Name: "t", MountPath: "/tmp"},
	}
	sandbox := testSandbox(t, pod)
	command, err := sandbox.Command(t.Context(), container, images.Program{
		Binary: "/bin/app", Args: []string{"--addr={{.PodIP}}:80", "--temp=/tmp/app"}, Overrides: []string{"--no-leader"},
		Env: map[string]string{"TABLE": "{{.PodName}}", "NAME": "overruled", "HOME": "/table"},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantArgs := []string{
		"--addr=127.129.0.7:80",
		"--temp=" + sandbox.dir + "/volumes/t/app",
		"--data=" + sandbox.dir + "/volumes/d/sub",
		"--name=n",
		"--no-leader",
	}
	if command.Path != "/bin/app" || !slices.Equal(command.Args, wantArgs) {
		t.Errorf("runs %s %q, want %q", command.Path, command.Args, wantArgs)
	}
	wantEnv := []string{
		"CACHE=" + sandbox.dir + "/volumes/t/c", "HOME=/table", "NAME=n", "PATH=/opt", "TABLE=app",
		"TMPDIR=" + sandbox.dir + "/volumes/t",
	}
	if !slices.Equal(command.Env, wantEnv) {
		t.Errorf("environment is %q, want %q", command.Env, wantEnv)
	}
}

// withServiceAccount gives pod what the admission plugin of the API server gives it.
func withServiceAccount(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Volumes = append(
		pod.Spec.Volumes,
		corev1.Volume{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{
					ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
						ExpirationSeconds: ptr(int64(3607)),
						Path:              "token",
					},
				},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{
						Path:     "namespace",
						FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"},
					},
				}}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "cm"},
					Items:                []corev1.KeyToPath{{Key: "a", Path: "deep/inside"}},
				}},
			}},
		}},
	)
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{
		{Name: "kube-api-access", MountPath: serviceAccountPath},
	}
	return pod
}

func TestServiceAccount(t *testing.T) {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "cm"},
		Data:       map[string]string{"a": "1"},
	}
	sandbox := testSandbox(t, withServiceAccount(testPod()), configMap)
	if err := sandbox.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	volume := sandbox.volume("kube-api-access")
	for name, want := range map[string]string{"token": "token for uid ", "namespace": "dev", "deep/inside": "1"} {
		path := filepath.Join(volume, name)
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is not private: %v (%v)", name, info.Mode(), err)
		}
	}
	config, err := clientcmd.LoadFromFile(sandbox.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if file := config.AuthInfos["lab"].TokenFile; file != filepath.Join(volume, "token") {
		t.Errorf("the kubeconfig names %s", file)
	}
	if server := config.Clusters["lab"]; server.Server != "https://127.0.0.1:6443" ||
		string(server.CertificateAuthorityData) != "ca" {
		t.Errorf("the kubeconfig talks to %+v", server)
	}
	lifetime := time.Until(sandbox.tokens[0].due)
	if want := tokenLifetime * 4 / 5; lifetime > want || lifetime < want-time.Minute {
		t.Errorf("the token is renewed after %s, want %s", lifetime, want)
	}
}

func TestDeniedServiceAccountStaysDenied(t *testing.T) {
	pod := testPod()
	sandbox := testSandbox(t, pod)
	if err := sandbox.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	command, err := sandbox.Command(t.Context(), &pod.Spec.Containers[0], images.Program{Binary: "/bin/app"})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(
		command.Env,
		func(entry string) bool { return strings.HasPrefix(entry, "KUBECONFIG=") },
	) {
		t.Errorf("environment is %q", command.Env)
	}
}

func TestTokenIsKeptFresh(t *testing.T) {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "cm"},
		Data:       map[string]string{"a": "1"},
	}
	sandbox := testSandbox(t, withServiceAccount(testPod()), configMap)
	if err := sandbox.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	token := sandbox.tokens[0]
	if err := os.Remove(token.path); err != nil {
		t.Fatal(err)
	}
	token.due = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	sandbox.KeepTokens(ctx, func(err error) { t.Error(err) })
	if _, err := os.Stat(token.path); err != nil {
		t.Errorf("the token was not renewed: %v", err)
	}
}

func TestRefreshedVolumesHaveThePresentContent(t *testing.T) {
	pod := testPod()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "s"}}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "cert", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
	}
	sandbox := testSandbox(t, pod, secret)
	if err := sandbox.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{"tls.crt": []byte("certificate")}
	if _, err := sandbox.Client.CoreV1().Secrets("dev").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(sandbox.volume("cert"), "tls.crt"))
	if err != nil || string(content) != "certificate" {
		t.Errorf("the volume holds %q, %v", content, err)
	}
}

func TestUnsupportedVolume(t *testing.T) {
	pod := testPod()
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"},
	}}}
	sandbox := testSandbox(t, pod)
	err := sandbox.Prepare(t.Context())
	if err == nil || !strings.Contains(err.Error(), `volume "v": the node agent knows emptyDir`) {
		t.Fatalf("got %v", err)
	}
	if err := sandbox.New(pod, true).Prepare(t.Context()); err != nil {
		t.Fatalf("a simulated pod is refused: %v", err)
	}
}

func TestRemoveOthers(t *testing.T) {
	stays := testSandbox(t, testPod())
	if err := stays.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := testPod()
	gone.UID = "other"
	if err := stays.Builder.New(gone, false).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stays.RemoveOthers([]*corev1.Pod{testPod()}); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(stays.Root)
	if len(left) != 1 || left[0].Name() != "dev_app_uid" {
		t.Fatalf("left are %v", left)
	}
}
