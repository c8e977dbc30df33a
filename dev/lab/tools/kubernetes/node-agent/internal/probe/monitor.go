package probe

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// settleTime is how long a process without a readiness probe must have lived to be taken as ready.
	settleTime = time.Second
	// eagerPeriod is the period of a readiness probe that has not passed yet. With its own period, ten
	// seconds unless the manifest says otherwise, a process that needs half a second to listen would be ready
	// after ten.
	eagerPeriod = time.Second
)

// Kind names the three probes of a container.
type Kind string

const (
	Startup   Kind = "Startup"
	Readiness Kind = "Readiness"
	Liveness  Kind = "Liveness"
)

// Observer hears what the probes of a process find out.
type Observer interface {
	// Started is called once, when the startup probe has passed.
	Started()
	// Ready is called whenever the readiness changes; it begins as false.
	Ready(ready bool)
	// Failed is called for each single failure.
	Failed(kind Kind, err error)
	// Unhealthy is called once, when the startup or the liveness probe has failed for good.
	Unhealthy(kind Kind, err error)
}

// Monitor watches one run of a container.
type Monitor struct {
	container *corev1.Container
	podIP     string
	observer  Observer
	began     time.Time
}

// NewMonitor makes the monitor of a process of container that has just started.
func NewMonitor(container *corev1.Container, podIP string, observer Observer) *Monitor {
	return &Monitor{container: container, podIP: podIP, observer: observer, began: time.Now()}
}

// Run probes until ctx is done. Readiness and liveness wait for the startup probe.
func (m *Monitor) Run(ctx context.Context) {
	if !m.awaitStartup(ctx) {
		return
	}
	m.observer.Started()
	var probes sync.WaitGroup
	probes.Go(func() { m.watchReadiness(ctx) })
	probes.Go(func() { m.watchLiveness(ctx) })
	probes.Wait()
}

// awaitStartup returns whether the startup probe, if there is one, has passed.
func (m *Monitor) awaitStartup(ctx context.Context) bool {
	spec := m.container.StartupProbe
	if spec == nil {
		return true
	}
	started := false
	m.poll(ctx, Startup, spec, func(passed bool, err error) bool {
		started = passed
		if !passed {
			m.observer.Unhealthy(Startup, err)
		}
		return false
	})
	return started
}

func (m *Monitor) watchReadiness(ctx context.Context) {
	spec := m.container.ReadinessProbe
	if spec == nil {
		if sleep(ctx, settleTime-time.Since(m.began)) {
			m.observer.Ready(true)
		}
		return
	}
	ready := false
	m.poll(ctx, Readiness, spec, func(passed bool, _ error) bool {
		if passed != ready {
			ready = passed
			m.observer.Ready(ready)
		}
		return true
	})
}

func (m *Monitor) watchLiveness(ctx context.Context) {
	spec := m.container.LivenessProbe
	if spec == nil {
		return
	}
	m.poll(ctx, Liveness, spec, func(passed bool, err error) bool {
		if !passed {
			m.observer.Unhealthy(Liveness, err)
		}
		return passed
	})
}

// poll probes at the times that spec says. Whenever a threshold is reached it calls decide, which says
// whether to go on.
func (m *Monitor) poll(
	ctx context.Context, kind Kind, spec *corev1.Probe, decide func(passed bool, err error) bool,
) {
	check := NewCheck(spec, m.container, m.podIP)
	tally := NewTally(spec)
	period := max(time.Second, time.Duration(spec.PeriodSeconds)*time.Second)
	interval := period
	if kind == Readiness {
		interval = eagerPeriod
	}
	initialDelay := time.Duration(spec.InitialDelaySeconds) * time.Second
	for sleep(ctx, initialDelay-time.Since(m.began)) {
		err := check(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			m.observer.Failed(kind, err)
		}
		if tally.Observe(err == nil) {
			if !decide(err == nil, err) {
				return
			}
			if err == nil {
				interval = period
			}
		}
		if !sleep(ctx, interval) {
			return
		}
	}
}

// sleep returns false if ctx was done first.
func sleep(ctx context.Context, duration time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(duration):
		return true
	}
}
