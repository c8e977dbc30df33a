package kubeletapi

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// oneLog is a node with the one pod dev/app, whose container main has a log.
type oneLog struct{ path string }

func (o oneLog) GetPods(context.Context) ([]*corev1.Pod, error) {
	return []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "app"}}}, nil
}

func (o oneLog) OpenLog(namespace, name, container string, previous bool) (*os.File, func() bool, error) {
	if namespace != "dev" || name != "app" || container != "main" {
		return nil, nil, errdefs.NotFound("no such container")
	}
	if previous {
		return nil, nil, errdefs.InvalidInput("no previous run")
	}
	file, err := os.Open(o.path)
	return file, func() bool { return true }, err
}

func TestHandler(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/pods", 200, `"name":"app"`},
		{"GET", "/containerLogs/dev/app/main", 200, "one\ntwo\nthree\n"},
		{"GET", "/containerLogs/dev/app/main?tailLines=1", 200, "three\n"},
		{"GET", "/containerLogs/dev/app/main?tailLines=2&limitBytes=3&timestamps=true", 200, "two"},
		{"GET", "/containerLogs/dev/app/main?follow=true", 200, "one\ntwo\nthree\n"},
		{"GET", "/containerLogs/dev/app/main?tailLines=some", 400, `tailLines is "some"`},
		{"GET", "/containerLogs/dev/app/main?sinceSeconds=60", 400, "without times"},
		{"GET", "/containerLogs/dev/app/main?previous=true", 400, "no previous run"},
		{"GET", "/containerLogs/dev/app/other", 404, "no such container"},
		{"POST", "/exec/dev/app/main", 501, "host processes without containers"},
		{"POST", "/attach/dev/app/main", 501, "host processes without containers"},
		{"GET", "/metrics", 404, ""},
	}
	handler := Handler(oneLog{path})
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, httptest.NewRequest(c.method, c.path, nil))
			if response.Code != c.status || !strings.Contains(response.Body.String(), c.body) {
				t.Fatalf("got %d %q", response.Code, response.Body)
			}
		})
	}
}
