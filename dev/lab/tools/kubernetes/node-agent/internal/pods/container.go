package pods

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/images"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/podlog"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/probe"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/process"
)

// Reasons of waiting and ended containers, as a kubelet gives them.
const (
	reasonCreating     = "ContainerCreating"
	reasonConfigError  = "CreateContainerConfigError"
	reasonRunError     = "RunContainerError"
	reasonCrashLoop    = "CrashLoopBackOff"
	reasonInitializing = "PodInitializing"
	reasonOOMKilled    = "OOMKilled"
)

// messageLimit is how much of the log of a failed process goes into its status, in bytes.
const messageLimit = 2 << 10

// container is a container of a pod: a process that is started again as its restart policy says, or nothing
// at all where no program is known for its image.
type container struct {
	pod     *pod
	spec    *corev1.Container
	policy  corev1.RestartPolicy
	program images.Program
	known   bool

	// status is guarded by the mutex of the pod, and changed only inside pod.change.
	status corev1.ContainerStatus
}

func newContainer(pod *pod, spec *corev1.Container, policy corev1.RestartPolicy) *container {
	created := &container{pod: pod, spec: spec, policy: policy}
	created.program, created.known = pod.Images.Lookup(spec.Image)
	created.status = corev1.ContainerStatus{
		Name:    spec.Name,
		Image:   spec.Image,
		ImageID: "process://" + created.program.Binary,
	}
	if !created.known {
		created.status.ImageID = simulatedScheme + spec.Image
	}
	created.wait(reasonCreating, "")
	if len(pod.origin.Spec.InitContainers) > 0 {
		created.wait(reasonInitializing, "")
	}
	return created
}

// runs says whether the container is a process.
func (c *container) runs() bool { return c.known }

// supervise runs the container until its restart policy lets it rest, or ctx is done.
func (c *container) supervise(ctx context.Context) {
	if c.simulated() {
		c.simulate()
		return
	}
	delays := newBackoff()
	for {
		began := time.Now()
		running, err := c.start(ctx)
		if ctx.Err() != nil && running == nil {
			return
		}
		if err == nil {
			c.watch(ctx, running)
			if ctx.Err() != nil || !restarts(c.policy, running.ExitCode()) {
				c.pod.change(func() { c.terminate(running) })
				return
			}
			if time.Since(began) > backoffReset {
				delays = newBackoff()
			}
		}
		delay := delays.Step()
		if err == nil {
			c.backOff(running, delay)
		}
		if !sleep(ctx, delay) {
			return
		}
		// A program may have failed for a Secret that was still empty.
		if err := c.pod.sandbox.Refresh(ctx); err != nil {
			c.pod.Log.Warn("a volume could not be refreshed", "pod", c.pod.name, "error", err)
		}
	}
}

// start starts a process for the container. A failure shows as the reason why the container waits.
func (c *container) start(ctx context.Context) (*process.Process, error) {
	command, err := c.pod.sandbox.Command(ctx, c.spec, c.program)
	if err != nil {
		return nil, c.failToStart(ctx, reasonConfigError, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	command.Output, err = c.pod.Logs.Begin(c.pod.origin, c.spec.Name)
	if err != nil {
		return nil, c.failToStart(ctx, reasonRunError, err)
	}
	defer command.Output.Close()
	started, err := c.pod.Launcher.Start(command)
	if err != nil {
		return nil, c.failToStart(ctx, reasonRunError, err)
	}
	c.pod.change(func() {
		if c.status.LastTerminationState.Terminated != nil {
			c.status.RestartCount++
		}
		c.status.ContainerID = containerID(started)
		c.status.State = corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()},
		}
	})
	c.pod.event(corev1.EventTypeNormal, "Started",
		"Container %s runs as process %d", c.spec.Name, started.PID())
	return started, nil
}

func (c *container) failToStart(ctx context.Context, reason string, err error) error {
	if ctx.Err() == nil {
		c.pod.change(func() { c.wait(reason, err.Error()) })
		c.pod.event(corev1.EventTypeWarning, "Failed", "Container %s: %v", c.spec.Name, err)
	}
	return err
}

// watch keeps an eye on running until it has ended: by itself, by ctx, or because its probes say that it
// must.
func (c *container) watch(ctx context.Context, running *process.Process) {
	observer := &observer{container: c, unhealthy: make(chan error, 1)}
	probing, stopProbing := context.WithCancel(ctx)
	var monitor sync.WaitGroup
	monitor.Go(func() { probe.NewMonitor(c.spec, c.pod.ip.String(), observer).Run(probing) })
	select {
	case <-running.Done():
	case <-ctx.Done():
		c.stop(running)
	case err := <-observer.unhealthy:
		c.pod.event(corev1.EventTypeNormal, "Killing", "Container %s is restarted: %v", c.spec.Name, err)
		stopProbing()
		c.stop(running)
	}
	stopProbing()
	monitor.Wait()
}

// stop ends running within the pod's grace period, or sooner if the pod is killed.
func (c *container) stop(running *process.Process) {
	grace := time.Duration(*c.pod.origin.Spec.TerminationGracePeriodSeconds) * time.Second
	patience, cancel := context.WithTimeout(c.pod.killed, grace)
	defer cancel()
	c.beforeStop(patience, running)
	running.Stop(patience)
}

// beforeStop does what the preStop hook asks for. Of the kinds of hooks only a sleep can be done for a host process:
// the pod is no endpoint any more, and serves on while clients learn of it.
func (c *container) beforeStop(patience context.Context, running *process.Process) {
	lifecycle := c.spec.Lifecycle
	if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Sleep == nil {
		return
	}
	select {
	case <-time.After(time.Duration(lifecycle.PreStop.Sleep.Seconds) * time.Second):
	case <-running.Done():
	case <-patience.Done():
	case <-c.pod.ending:
	}
}

// wait makes the container wait. Like all that changes the status, it is to be called inside pod.change.
func (c *container) wait(reason, message string) {
	c.status.Ready, c.status.Started = false, new(bool)
	c.status.State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
	}
}

// terminate records the end of ended as the present state.
func (c *container) terminate(ended *process.Process) {
	state := &corev1.ContainerStateTerminated{
		ExitCode:    int32(ended.ExitCode()),
		Reason:      "Completed",
		FinishedAt:  metav1.Now(),
		ContainerID: containerID(ended),
	}
	if running := c.status.State.Running; running != nil {
		state.StartedAt = running.StartedAt
	}
	if ended.ExitCode() != 0 {
		state.Reason = "Error"
		state.Message = podlog.LastLines(c.pod.Logs.Current(c.pod.origin, c.spec.Name), messageLimit)
	}
	if ended.OOMKilled() {
		state.Reason = reasonOOMKilled
	}
	c.status.Ready, c.status.Started = false, new(bool)
	c.status.State = corev1.ContainerState{Terminated: state}
}

// backOff records the end of ended as the past and makes the container wait for its next start.
func (c *container) backOff(ended *process.Process, delay time.Duration) {
	message := fmt.Sprintf(
		"back-off %s restarting failed container=%s pod=%s", delay, c.spec.Name, c.pod.name,
	)
	c.pod.change(func() {
		c.terminate(ended)
		c.status.LastTerminationState = c.status.State
		c.wait(reasonCrashLoop, message)
	})
	c.pod.event(corev1.EventTypeWarning, "BackOff",
		"Container %s ended with exit code %d: %s", c.spec.Name, ended.ExitCode(), message)
}

// succeeded says whether the container has ended well.
func (c *container) succeeded() bool {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return c.status.State.Terminated != nil && c.status.State.Terminated.ExitCode == 0
}

// openLog opens the log of the present or the previous run. The function tells whether the process writing it
// has ended.
func (c *container) openLog(previous bool) (*os.File, func() bool, error) {
	if c.simulated() {
		return nil, nil, errdefs.InvalidInputf(
			"container %q of pod %s is simulated: no program is known for image %s, so there is no log",
			c.spec.Name,
			c.pod.name,
			c.spec.Image,
		)
	}
	path := c.pod.Logs.Current(c.pod.origin, c.spec.Name)
	if previous {
		path = c.pod.Logs.Previous(c.pod.origin, c.spec.Name)
	}
	id, waiting := c.run()
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil, errdefs.InvalidInputf(
			"container %q of pod %s has no such log; it is waiting: %s", c.spec.Name, c.pod.name, waiting,
		)
	}
	ended := func() bool {
		present, waiting := c.run()
		return previous || waiting != "" || present != id
	}
	return file, ended, err
}

// run returns the identity of the latest run, and why it does not run now, "" if it does.
func (c *container) run() (id, waiting string) {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	switch state := c.status.State; {
	case state.Waiting != nil:
		return c.status.ContainerID, state.Waiting.Reason
	case state.Terminated != nil:
		return c.status.ContainerID, state.Terminated.Reason
	default:
		return c.status.ContainerID, ""
	}
}

// observer turns what the probes find out into status, events and the end of a sick process.
type observer struct {
	container *container
	unhealthy chan error
}

func (o *observer) Started() {
	started := true
	o.container.pod.change(func() { o.container.status.Started = &started })
}

func (o *observer) Ready(ready bool) {
	o.container.pod.change(func() { o.container.status.Ready = ready })
}

func (o *observer) Failed(kind probe.Kind, err error) {
	o.container.pod.event(corev1.EventTypeWarning, "Unhealthy", "%s %v", kind, err)
}

func (o *observer) Unhealthy(kind probe.Kind, err error) {
	o.unhealthy <- fmt.Errorf("%s %w", kind, err)
}

// statuses returns the statuses of containers; the mutex of their pod is held.
func statuses(containers []*container) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range containers {
		statuses = append(statuses, container.status)
	}
	return statuses
}

func containerID(running *process.Process) string { return fmt.Sprintf("process://%d", running.PID()) }
