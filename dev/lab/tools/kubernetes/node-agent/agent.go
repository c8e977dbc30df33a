package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/address"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/images"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/kubeletapi"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/limits"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/podlog"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/pods"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/process"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/sandbox"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/services"
)

const (
	// shutdownGrace is how long processes may take to end when the agent does.
	shutdownGrace = 4 * time.Second
	// podWorkers is how many pods are created, deleted and reported side by side.
	podWorkers = 16
	// The client's limits are for hundreds of pods that come at once.
	clientQPS, clientBurst = 200, 400
	// apiServerInterval is how soon an API server that does not answer yet is asked again.
	apiServerInterval = time.Second
)

// agent is the node and what it consists of.
type agent struct {
	options options
	log     *slog.Logger
	config  *rest.Config
	// client has the rights of a kubelet.
	client   kubernetes.Interface
	ports    services.Ports
	recorder record.EventRecorder
	// groups are those of the containers; unlimited is why there are none, or nil.
	groups    *limits.Node
	unlimited error
	// podInformers know the pods of this node only. serviceInformers know all services, with kube-proxy's rights.
	podInformers     informers.SharedInformerFactory
	serviceInformers informers.SharedInformerFactory
}

// run is the node agent: it returns when ctx is done or when a part of it cannot go on.
func run(ctx context.Context, options options, log *slog.Logger) error {
	agent, err := newAgent(options, log)
	if err != nil {
		return err
	}
	if err := agent.awaitAPIServer(ctx); err != nil {
		return ignoreStop(ctx, err)
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: agent.client.CoreV1().Events("")})
	defer events.Shutdown()
	agent.recorder = events.NewRecorder(
		scheme.Scheme,
		corev1.EventSource{Component: "node-agent", Host: options.nodeName},
	)

	if err := agent.startInformers(ctx); err != nil {
		return ignoreStop(ctx, err)
	}
	agent.openGroups()
	provider, err := agent.newProvider(ctx)
	if err != nil {
		return err
	}
	return errors.Join(agent.serve(ctx, provider), agent.groups.Close())
}

// ignoreStop returns no error if it is only that the agent was asked to end while it still began.
func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func newAgent(options options, log *slog.Logger) (*agent, error) {
	config, client, err := connect(options.kubeconfig)
	if err != nil {
		return nil, err
	}
	_, proxyClient, err := connect(options.proxyKubeconfig)
	if err != nil {
		return nil, err
	}
	ofThisNode := informers.WithTweakListOptions(func(list *metav1.ListOptions) {
		list.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", options.nodeName).String()
	})
	return &agent{
		options: options, log: log, config: config, client: client, ports: services.DetectPorts(),
		podInformers:     informers.NewSharedInformerFactoryWithOptions(client, 0, ofThisNode),
		serviceInformers: informers.NewSharedInformerFactory(proxyClient, 0),
	}, nil
}

// connect makes a client of the API for the user of a kubeconfig.
func connect(kubeconfig string) (*rest.Config, kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return config, client, nil
}

// awaitAPIServer returns when the API server answers; the error is that of ctx.
func (a *agent) awaitAPIServer(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, apiServerInterval, true, func(context.Context) (bool, error) {
		_, err := a.client.Discovery().ServerVersion()
		if err != nil {
			a.log.Info("waiting for the API server", "server", a.config.Host, "error", err)
		}
		return err == nil, nil
	})
}

// startInformers returns when the pods of this node and all services are known.
func (a *agent) startInformers(ctx context.Context) error {
	synced := []cache.InformerSynced{
		a.podInformers.Core().V1().Pods().Informer().HasSynced,
		a.serviceInformers.Core().V1().Services().Informer().HasSynced,
	}
	a.podInformers.Start(ctx.Done())
	a.serviceInformers.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("the pods and services of the cluster could not be listed")
	}
	return nil
}

// openGroups makes the control group of the node, and ends what an earlier agent has left in it. Without the right to
// do so, containers run without limits.
func (a *agent) openGroups() {
	// No other agent of this machine has the address.
	a.groups, a.unlimited = limits.Open("flux-tenancy-" + a.options.kubeletAddress)
	if a.unlimited != nil {
		a.log.Warn("memory and CPU limits are not enforced", "reason", a.unlimited)
		a.groups = &limits.Node{}
	}
}

// newProvider makes what runs the pods, and clears away what pods that are gone have left.
func (a *agent) newProvider(ctx context.Context) (*pods.Provider, error) {
	// Processes are given these paths, and have working directories of their own.
	root, err := filepath.Abs(a.options.state)
	if err != nil {
		return nil, fmt.Errorf("directory of the pods: %w", err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the pods: %w", err)
	}
	table, err := images.Open(a.options.images, a.log)
	if err != nil {
		return nil, err
	}
	addresses, err := address.NewPool(a.options.podCIDR)
	if err != nil {
		return nil, err
	}
	logs, err := podlog.Open(filepath.Join(filepath.Dir(root), "logs", "pods"))
	if err != nil {
		return nil, err
	}
	resources, err := machine()
	if err != nil {
		return nil, err
	}
	sandboxes := &sandbox.Builder{
		Root: root, Client: a.client, Server: a.config, HostIP: hostIP, Machine: resources,
		Services: services.NewResolver(a.serviceInformers.Core().V1().Services().Lister(), a.ports),
	}
	podLister := a.podInformers.Core().V1().Pods().Lister()
	bound, err := podLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	if err := sandboxes.RemoveOthers(bound); err != nil {
		return nil, err
	}
	return pods.NewProvider(ctx, pods.Dependencies{
		Client: a.client, Pods: podLister, Recorder: a.recorder, Images: table, Addresses: addresses,
		Launcher: process.NewLauncher(a.groups, a.log), Logs: logs, Sandboxes: sandboxes, Log: a.log,
	}), nil
}

// serve runs the parts of the agent side by side until ctx is done or one of them fails.
func (a *agent) serve(ctx context.Context, provider *pods.Provider) error {
	nodeController, err := a.newNodeController()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	podController, err := a.newPodController(provider)
	if err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	proxy, err := services.NewProxy(
		a.serviceInformers.Core().V1().Services(), provider, a.ports, a.options.exposures, a.log,
	)
	if err != nil {
		return fmt.Errorf("service proxy: %w", err)
	}
	provider.NotifyPods(ctx, func(*corev1.Pod) { proxy.Changed() })
	kubelet, err := kubeletapi.New(kubeletapi.Options{
		Address: a.options.kubeletAddress, ClientCA: a.options.clientCA,
		CertFile: a.options.tlsCert, KeyFile: a.options.tlsKey,
	}, provider, a.log)
	if err != nil {
		return err
	}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error {
		<-ctx.Done()
		provider.Shutdown(shutdownGrace)
		return nil
	})
	parts.Go(func() error { return kubelet.Run(ctx) })
	parts.Go(func() error { return proxy.Run(ctx) })
	parts.Go(func() error { return podController.Run(ctx, podWorkers) })
	parts.Go(func() error { return nodeController.Run(ctx) })
	return parts.Wait()
}

func (a *agent) newNodeController() (*vknode.NodeController, error) {
	node, err := newNode(a.options.nodeName, a.options.kubeletAddress, a.unlimited)
	if err != nil {
		return nil, err
	}
	leases := a.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	return vknode.NewNodeController(vknode.NaiveNodeProvider{}, node, a.client.CoreV1().Nodes(),
		vknode.WithNodeEnableLeaseV1(leases, vknode.DefaultLeaseDuration))
}

func (a *agent) newPodController(provider *pods.Provider) (*vknode.PodController, error) {
	// The controller insists on informers for its own way of resolving environments. It is told not to, so
	// these are never started and no Secret is held in memory.
	unused := informers.NewSharedInformerFactory(a.client, 0)
	return vknode.NewPodController(vknode.PodControllerConfig{
		PodClient:                            pods.StatusClient{PodsGetter: a.client.CoreV1()},
		PodInformer:                          a.podInformers.Core().V1().Pods(),
		EventRecorder:                        a.recorder,
		Provider:                             provider,
		ConfigMapInformer:                    unused.Core().V1().ConfigMaps(),
		SecretInformer:                       unused.Core().V1().Secrets(),
		ServiceInformer:                      unused.Core().V1().Services(),
		SkipDownwardAPIResolution:            true,
		SyncPodsFromKubernetesRateLimiter:    newRateLimiter(),
		DeletePodsFromKubernetesRateLimiter:  newRateLimiter(),
		SyncPodStatusFromProviderRateLimiter: newRateLimiter(),
	})
}

// newRateLimiter slows down what fails again and again, and nothing else: the controller's default lets ten
// changes a second through, too few for a node that gets hundreds of pods at once.
func newRateLimiter() workqueue.TypedRateLimiter[any] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[any](5*time.Millisecond, 10*time.Second)
}
