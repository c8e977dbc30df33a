package images

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func write(t *testing.T, path, content string, modified time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
}

func TestLookupNormalisesNames(t *testing.T) {
	programs, err := parse([]byte(`{"images": [
		{"image": "docker.io/library/nginx:latest", "binary": "/bin/nginx"},
		{"image": "ghcr.io/fluxcd/source-controller:v1.9.5", "binary": "/bin/source-controller"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"nginx":                          "/bin/nginx",
		"docker.io/library/nginx:latest": "/bin/nginx",
		"ghcr.io/fluxcd/source-controller:v1.9.5": "/bin/source-controller",
		"ghcr.io/fluxcd/source-controller:v1.9.4": "",
		"nginx:1.27":   "",
		"not an image": "",
	}
	for image, want := range cases {
		if got := programs[canonical(image)].Binary; got != want {
			t.Errorf("%q runs %q, want %q", image, got, want)
		}
	}
}

func TestTableFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "images.json")
	begin := time.Now().Add(-time.Hour)
	write(t, path, `{"images": []}`, begin)
	table, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, known := table.Lookup("a:1"); known {
		t.Fatal("an empty table knows a:1")
	}
	write(t, path, `{"images": [{"image": "a:1", "binary": "/a"}]}`, begin.Add(time.Minute))
	if _, known := table.Lookup("a:1"); !known {
		t.Fatal("the changed file was not read")
	}
	write(t, path, `{"images": [`, begin.Add(2*time.Minute))
	if _, known := table.Lookup("a:1"); !known {
		t.Fatal("a broken file replaced the last good table")
	}
}

func TestOpenRefuses(t *testing.T) {
	cases := map[string]string{
		"not JSON":       `{`,
		"no binary":      `{"images": [{"image": "a"}]}`,
		"unknown field":  `{"images": [{"image": "a", "binary": "/a", "args": ["{{.PodIp}}"]}]}`,
		"bad override":   `{"images": [{"image": "a", "binary": "/a", "overrides": ["{{"]}]}`,
		"broken pattern": `{"images": [{"image": "a", "binary": "/a", "env": {"X": "{{"}}]}`,
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "images.json")
			write(t, path, content, time.Now())
			if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil {
				t.Fatalf("%s was accepted", content)
			}
		})
	}
}

func TestProgramForTarget(t *testing.T) {
	program := Program{
		Binary:    "/bin/source-controller",
		Args:      []string{"--storage-addr={{.PodIP}}:9090", "--plain"},
		Overrides: []string{"--in={{.Namespace}}", "--kubeconfig={{.Kubeconfig}}"},
		Env:       map[string]string{"WHO": "{{.Namespace}}/{{.PodName}} as {{.ServiceAccount}}"},
	}
	got, err := program.For(
		Target{
			PodIP: "127.129.0.7", Namespace: "flux-system", PodName: "p", ServiceAccount: "sa", Kubeconfig: "/k",
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := Program{
		Binary:    "/bin/source-controller",
		Args:      []string{"--storage-addr=127.129.0.7:9090", "--plain"},
		Overrides: []string{"--in=flux-system", "--kubeconfig=/k"},
		Env:       map[string]string{"WHO": "flux-system/p as sa"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}
