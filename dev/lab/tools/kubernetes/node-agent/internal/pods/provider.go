// Package pods runs the pods of the node: as host processes where their images are known, and otherwise in
// name only.
package pods

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/address"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/images"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/podlog"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/process"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/sandbox"
)

var _ interface {
	vknode.PodLifecycleHandler
	vknode.PodNotifier
} = (*Provider)(nil)

// abandonedGrace is how long a pod may take to end whose object is gone already.
const abandonedGrace = 2 * time.Second

// Dependencies are what pods need of their node.
type Dependencies struct {
	Client    kubernetes.Interface
	Pods      corev1listers.PodLister
	Recorder  record.EventRecorder
	Images    *images.Table
	Addresses *address.Pool
	Launcher  *process.Launcher
	Logs      *podlog.Directory
	Sandboxes *sandbox.Builder
	Log       *slog.Logger
}

// Provider is the node's part of virtual-kubelet: it starts and stops pods as it is told, and reports how
// they are.
type Provider struct {
	Dependencies
	// lifetime outlasts the agent's controllers, so that pods can still be stopped in order after those.
	lifetime context.Context
	// ending is closed when the agent ends.
	ending chan struct{}

	mu       sync.Mutex
	pods     map[types.NamespacedName]*pod
	watchers []func(*corev1.Pod)
}

// NewProvider makes a provider that runs no pods yet.
func NewProvider(ctx context.Context, dependencies Dependencies) *Provider {
	return &Provider{
		Dependencies: dependencies,
		lifetime:     context.WithoutCancel(ctx),
		ending:       make(chan struct{}),
		pods:         map[types.NamespacedName]*pod{},
	}
}

// NotifyPods has changed called with the pod whenever its status is a new one. There may be several watchers.
func (p *Provider) NotifyPods(_ context.Context, changed func(*corev1.Pod)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(p.watchers, changed)
}

// CreatePod begins to run object. A pod of the same name that is still there belongs to an object that is
// gone.
func (p *Provider) CreatePod(_ context.Context, object *corev1.Pod) error {
	ip, err := p.Addresses.Acquire(object.Status.PodIP)
	if err != nil {
		return err
	}
	created := newPod(p, object, ip)
	p.mu.Lock()
	former := p.pods[nameOf(object)]
	p.pods[nameOf(object)] = created
	p.mu.Unlock()
	if former != nil {
		p.remove(former, abandonedGrace)
	}
	created.start()
	return nil
}

// UpdatePod takes over the new labels and annotations of object.
func (p *Provider) UpdatePod(_ context.Context, object *corev1.Pod) error {
	pod, err := p.find(object.Namespace, object.Name)
	if err != nil {
		return err
	}
	pod.update(object)
	return nil
}

// DeletePod begins to stop object, and returns without waiting for its end.
func (p *Provider) DeletePod(_ context.Context, object *corev1.Pod) error {
	pod, err := p.find(object.Namespace, object.Name)
	if err != nil {
		return err
	}
	grace := abandonedGrace
	if seconds := object.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	p.remove(pod, grace)
	return nil
}

// GetPod returns the pod with the status that it has on this node. A pod of the same name that belongs to
// another object than the API server's is not the one that is asked for.
func (p *Provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, err := p.find(namespace, name)
	if err != nil {
		return nil, err
	}
	if object, err := p.Pods.Pods(namespace).Get(name); err == nil && object.UID != pod.uid {
		return nil, errdefs.NotFoundf(
			"pod %s/%s with uid %s is not on this node", namespace, name, object.UID,
		)
	}
	return pod.snapshot(), nil
}

// GetPodStatus returns the status of a pod.
func (p *Provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	object, err := p.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &object.Status, nil
}

// GetPods returns all pods of the node.
func (p *Provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	var objects []*corev1.Pod
	for _, pod := range p.all() {
		objects = append(objects, pod.snapshot())
	}
	return objects, nil
}

// Endpoints returns the pods that selector matches and that can be reached, for the service proxy.
func (p *Provider) Endpoints(namespace string, selector labels.Selector, notReady bool) []*corev1.Pod {
	var endpoints []*corev1.Pod
	for _, pod := range p.all() {
		if endpoint := pod.endpoint(namespace, selector, notReady); endpoint != nil {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

// OpenLog opens the log of a container, or that of its previous run. The function tells whether its writer
// has ended.
func (p *Provider) OpenLog(namespace, name, container string, previous bool) (*os.File, func() bool, error) {
	pod, err := p.find(namespace, name)
	if err != nil {
		return nil, nil, err
	}
	return pod.openLog(container, previous)
}

// Shutdown stops all processes, side by side. What becomes of the pods is reported to nobody: it is the agent
// that ends, and they will run again with the next one. No client is left to wait for, so preStop hooks are passed over.
func (p *Provider) Shutdown(grace time.Duration) {
	p.mu.Lock()
	p.watchers = nil
	p.mu.Unlock()
	close(p.ending)
	pods := p.all()
	for _, pod := range pods {
		pod.stop(grace)
	}
	for _, pod := range pods {
		<-pod.done
	}
}

// remove stops pod and, when it has ended, removes all that was its own.
func (p *Provider) remove(pod *pod, grace time.Duration) {
	pod.stop(grace)
	pod.removal.Do(func() {
		go func() {
			<-pod.done
			p.forget(pod)
			if err := p.clear(pod); err != nil {
				p.Log.Error("a pod left something behind", "pod", pod.name, "error", err)
			}
		}()
	})
}

// forget takes pod off the list, unless another one has its name by now.
func (p *Provider) forget(pod *pod) {
	p.Addresses.Release(pod.ip)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pods[pod.name] == pod {
		delete(p.pods, pod.name)
	}
}

// clear removes what pod leaves behind on this machine, and last its object: virtual-kubelet would do that
// only when the whole grace period is over.
func (p *Provider) clear(pod *pod) error {
	if err := pod.sandbox.Remove(); err != nil {
		return fmt.Errorf("its directory: %w", err)
	}
	living, err := p.GetPods(p.lifetime)
	if err != nil {
		return err
	}
	if err := p.Logs.Prune(pod.origin, living); err != nil {
		return fmt.Errorf("its logs: %w", err)
	}
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.uid))
	err = p.Client.CoreV1().Pods(pod.name.Namespace).Delete(p.lifetime, pod.name.Name, *options)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("its object: %w", err)
	}
	return nil
}

// publish passes a new status of pod on, unless another pod has its name by now: watchers know pods by name.
func (p *Provider) publish(pod *pod) {
	p.mu.Lock()
	current, watchers := p.pods[pod.name] == pod, p.watchers
	p.mu.Unlock()
	if !current {
		return
	}
	object := pod.snapshot()
	for _, changed := range watchers {
		changed(object)
	}
}

func (p *Provider) find(namespace, name string) (*pod, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pod := p.pods[types.NamespacedName{Namespace: namespace, Name: name}]; pod != nil {
		return pod, nil
	}
	return nil, errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
}

func (p *Provider) all() []*pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	pods := make([]*pod, 0, len(p.pods))
	for _, pod := range p.pods {
		pods = append(pods, pod)
	}
	return pods
}

func nameOf(object *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}
