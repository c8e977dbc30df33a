package pods

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/sandbox"
)

// What a pod needs may not be there yet: a Secret that is applied after it, or, in the first moment, what the API
// server knows of the pod. The preparation is tried again after firstPrepareBackoff, later after maxPrepareBackoff.
const (
	firstPrepareBackoff = 100 * time.Millisecond
	maxPrepareBackoff   = time.Second
)

// pod is a pod of this node, from its creation to the end of its last process.
type pod struct {
	*Provider
	name types.NamespacedName
	uid  types.UID
	ip   netip.Addr
	// origin is the object that the pod was made from. It never changes.
	origin  *corev1.Pod
	sandbox *sandbox.Sandbox
	inits   []*container
	mains   []*container

	// running is done when the pod is asked to end, killed when its patience is over.
	running context.Context
	cancel  context.CancelFunc
	killed  context.Context
	kill    context.CancelFunc
	done    chan struct{}
	removal sync.Once

	// publishing keeps statuses in the order in which they came about.
	publishing sync.Mutex

	mu sync.Mutex
	// object is what the API server has last told about the pod, with the status that it has here.
	object   *corev1.Pod
	stopping bool
}

// newPod makes the pod of object with the address ip. It does nothing before start.
func newPod(provider *Provider, object *corev1.Pod, ip netip.Addr) *pod {
	object = object.DeepCopy()
	object.Status = initialStatus(object, ip.String(), provider.Sandboxes.HostIP, metav1.Now())
	created := &pod{
		Provider: provider, name: nameOf(object), uid: object.UID, ip: ip,
		origin: object, object: object.DeepCopy(),
		done: make(chan struct{}),
	}
	created.running, created.cancel = context.WithCancel(provider.lifetime)
	created.killed, created.kill = context.WithCancel(provider.lifetime)
	policy := object.Spec.RestartPolicy
	for i := range object.Spec.InitContainers {
		spec := &object.Spec.InitContainers[i]
		created.inits = append(created.inits, newContainer(created, spec, initPolicy(policy)))
	}
	for i := range object.Spec.Containers {
		spec := &object.Spec.Containers[i]
		created.mains = append(created.mains, newContainer(created, spec, policy))
	}
	created.sandbox = provider.Sandboxes.New(object, !slices.ContainsFunc(created.containers(), (*container).runs))
	created.object.Status = nextStatus(object, statuses(created.inits), statuses(created.mains), metav1.Now())
	return created
}

// start runs the pod in the background, until stop.
func (p *pod) start() {
	go func() {
		defer close(p.done)
		p.run(p.running)
	}()
}

// stop asks the pod to end within grace. It may be asked again, with less patience.
func (p *pod) stop(grace time.Duration) {
	p.change(func() {
		p.stopping = true
		for _, container := range p.mains {
			container.endSimulation()
		}
	})
	p.cancel()
	time.AfterFunc(grace, p.kill)
}

// run prepares the pod, runs its init containers one after the other and then its containers side by side.
func (p *pod) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.Provider.publish(p)
	if slices.ContainsFunc(p.containers(), (*container).simulated) {
		p.markSimulated(ctx)
	}
	if p.prepare(ctx) {
		p.runContainers(ctx)
	}
}

func (p *pod) runContainers(ctx context.Context) {
	for _, container := range p.inits {
		container.supervise(ctx)
		if !container.succeeded() {
			return
		}
	}
	var supervisors sync.WaitGroup
	for _, container := range p.mains {
		supervisors.Go(func() { container.supervise(ctx) })
	}
	supervisors.Wait()
}

// containers returns all containers of the pod, in the order of their start.
func (p *pod) containers() []*container { return slices.Concat(p.inits, p.mains) }

// prepare makes what the processes of the pod will find, however often that must be tried. It returns false
// if ctx is done before that. A simulated pod is prepared, too: what a kubelet would be refused keeps it from running.
func (p *pod) prepare(ctx context.Context) bool {
	for interval := firstPrepareBackoff; ; interval = min(2*interval, maxPrepareBackoff) {
		err := p.sandbox.Prepare(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return false
		}
		p.event(corev1.EventTypeWarning, "FailedMount", "%v", err)
		p.Log.Warn("a pod does not get what it mounts", "pod", p.name, "error", err)
		p.change(func() {
			for _, container := range p.containers() {
				container.wait(reasonCreating, err.Error())
			}
		})
		if !sleep(ctx, interval) {
			return false
		}
	}
	go p.sandbox.KeepTokens(ctx, func(err error) {
		p.Log.Error("a token could not be renewed", "pod", p.name, "error", err)
	})
	return true
}

// update takes over what may change in the object of a pod.
func (p *pod) update(object *corev1.Pod) {
	object = object.DeepCopy()
	p.mu.Lock()
	defer p.mu.Unlock()
	object.Status = p.object.Status
	p.object = object
}

// change makes a change to the state of the pod or its containers, and reports the status that follows from
// it.
func (p *pod) change(apply func()) {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	p.mu.Lock()
	apply()
	p.object.Status = nextStatus(p.object, statuses(p.inits), statuses(p.mains), metav1.Now())
	p.mu.Unlock()
	p.Provider.publish(p)
}

// snapshot returns the object with the present status.
func (p *pod) snapshot() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object.DeepCopy()
}

// endpoint returns the object if it may get connections for a service, and otherwise nil.
func (p *pod) endpoint(namespace string, selector labels.Selector, notReady bool) *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.object.Namespace != namespace || !selector.Matches(labels.Set(p.object.Labels)),
		p.stopping || !slices.ContainsFunc(p.mains, (*container).runs),
		!notReady && !isReady(p.object.Status):
		return nil
	}
	return p.object.DeepCopy()
}

// openLog opens the log of a container's present or previous run.
func (p *pod) openLog(name string, previous bool) (*os.File, func() bool, error) {
	all := p.containers()
	index := slices.IndexFunc(all, func(c *container) bool { return c.spec.Name == name })
	if index < 0 {
		return nil, nil, errdefs.NotFoundf("pod %s has no container %q", p.name, name)
	}
	return all[index].openLog(previous)
}

func (p *pod) event(kind, reason, format string, args ...any) {
	p.Recorder.Event(p.snapshot(), kind, reason, fmt.Sprintf(format, args...))
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
