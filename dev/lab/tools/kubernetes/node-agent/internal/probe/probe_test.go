package probe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestTally(t *testing.T) {
	cases := []struct {
		name             string
		success, failure int32
		results, reached string
	}{
		{"one success is enough", 1, 3, "+", "y"},
		{"the third failure in a row", 1, 3, "---", "nny"},
		{"a success in between begins anew", 1, 3, "--+---", "nnynny"},
		{"two successes", 2, 1, "+-++", "nyny"},
		{"thresholds left at zero", 0, 0, "+-", "yy"},
		{"stays reached", 1, 2, "----", "nyyy"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tally := NewTally(&corev1.Probe{SuccessThreshold: c.success, FailureThreshold: c.failure})
			for i, result := range c.results {
				if got, want := tally.Observe(result == '+'), c.reached[i] == 'y'; got != want {
					t.Fatalf("result %d of %q: reached = %t", i+1, c.results, got)
				}
			}
		})
	}
}

// server answers with status; its port is named "http" in the container returned.
func server(t *testing.T, status *atomic.Int32) *corev1.Container {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(server.Close)
	address, _ := url.Parse(server.URL)
	port, _ := strconv.Atoi(address.Port())
	return &corev1.Container{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(port)}}}
}

func httpProbe(port string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString(port)},
		},
		TimeoutSeconds: 1, PeriodSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1,
	}
}

func TestChecks(t *testing.T) {
	var status atomic.Int32
	container := server(t, &status)
	tcp := func(port string) *corev1.Probe {
		return &corev1.Probe{TimeoutSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(port)},
		}}
	}
	exec := &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}},
	}
	cases := []struct {
		name   string
		probe  *corev1.Probe
		status int32
		passes bool
	}{
		{"http 200", httpProbe("http"), 200, true},
		{"http 503", httpProbe("http"), 503, false},
		{"http, no such port name", httpProbe("https"), 200, false},
		{"tcp, named port", tcp("http"), 200, true},
		{"tcp, nobody there", tcp("1"), 200, false},
		{"exec is taken as passed", exec, 200, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status.Store(c.status)
			if err := NewCheck(c.probe, container, "127.0.0.1")(t.Context()); (err == nil) != c.passes {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// recorder writes down what it hears and cancels when it has heard the last of it.
type recorder struct {
	mu     sync.Mutex
	heard  []string
	last   string
	cancel context.CancelFunc
}

func (r *recorder) hear(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, what)
	if what == r.last {
		r.cancel()
	}
}

func (r *recorder) Started()                     { r.hear("started") }
func (r *recorder) Ready(ready bool)             { r.hear("ready " + strconv.FormatBool(ready)) }
func (r *recorder) Failed(kind Kind, _ error)    { r.hear(string(kind) + " failed") }
func (r *recorder) Unhealthy(kind Kind, _ error) { r.hear(string(kind) + " unhealthy") }

func TestMonitor(t *testing.T) {
	var healthy, sick atomic.Int32
	healthy.Store(200)
	sick.Store(500)
	cases := []struct {
		name   string
		status *atomic.Int32
		probes func(*corev1.Container)
		want   []string
	}{
		{"no probes", &sick, func(*corev1.Container) {}, []string{"started", "ready true"}},
		{
			"ready",
			&healthy,
			func(c *corev1.Container) { c.ReadinessProbe = httpProbe("http") },
			[]string{"started", "ready true"},
		},
		{
			"never live",
			&sick,
			func(c *corev1.Container) { c.LivenessProbe, c.ReadinessProbe = httpProbe("http"), nil },
			[]string{"started", "Liveness failed", "Liveness unhealthy"},
		},
		{"never started", &sick, func(c *corev1.Container) { c.StartupProbe = httpProbe("http") },
			[]string{"Startup failed", "Startup unhealthy"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			container := server(t, c.status)
			c.probes(container)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			observer := &recorder{last: c.want[len(c.want)-1], cancel: cancel}
			NewMonitor(container, "127.0.0.1", observer).Run(ctx)
			if !slices.Equal(observer.heard, c.want) {
				t.Fatalf("heard %q, want %q", observer.heard, c.want)
			}
		})
	}
}
