package services

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice"
)

// retryInterval is how soon addresses are tried again that could not be listened on.
const retryInterval = 5 * time.Second

// Endpoints finds the pods behind a service. The proxy asks for them itself instead of reading
// EndpointSlices, because those may not hold loopback addresses.
type Endpoints interface {
	// Endpoints returns the pods of namespace that selector matches and that run as processes which can be
	// reached: the ready ones, and the others too if notReady says so.
	Endpoints(namespace string, selector labels.Selector, notReady bool) []*corev1.Pod
}

// Proxy listens on the cluster addresses of services, and on those that they are exposed on, and forwards
// connections to the pods behind them. A service without a ready pod refuses connections, as with kube-proxy.
type Proxy struct {
	services  corev1listers.ServiceLister
	endpoints Endpoints
	ports     Ports
	exposures []Exposure
	log       *slog.Logger

	changes   chan struct{}
	forwarder map[string]*forwarder
	running   sync.WaitGroup
}

// NewProxy makes a proxy for the services of informer.
func NewProxy(
	services v1.ServiceInformer, endpoints Endpoints, ports Ports, exposures []Exposure, log *slog.Logger,
) (*Proxy, error) {
	proxy := &Proxy{
		services: services.Lister(), endpoints: endpoints, ports: ports, exposures: exposures, log: log,
		changes: make(chan struct{}, 1), forwarder: map[string]*forwarder{},
	}
	_, err := services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { proxy.Changed() },
		UpdateFunc: func(any, any) { proxy.Changed() },
		DeleteFunc: func(any) { proxy.Changed() },
	})
	return proxy, err
}

// Changed tells the proxy that services or pods are not what they were. It never blocks.
func (p *Proxy) Changed() {
	select {
	case p.changes <- struct{}{}:
	default:
	}
}

// Run serves until ctx is done.
func (p *Proxy) Run(ctx context.Context) error {
	retry := time.NewTicker(retryInterval)
	defer retry.Stop()
	defer p.running.Wait()
	for {
		if err := p.reconcile(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.changes:
		case <-retry.C:
		}
	}
}

// reconcile makes the forwarders be those that the services need, each with its targets of this moment.
func (p *Proxy) reconcile(ctx context.Context) error {
	services, err := p.services.List(labels.Everything())
	if err != nil {
		return err
	}
	wanted := map[string][]string{}
	for _, service := range services {
		p.addTargets(service, wanted)
	}
	for address, forwarder := range p.forwarder {
		if wanted[address] == nil {
			forwarder.close()
			delete(p.forwarder, address)
		}
	}
	for address, targets := range wanted {
		if p.forwarder[address] == nil {
			p.listen(ctx, address)
		}
		if forwarder := p.forwarder[address]; forwarder != nil {
			forwarder.retarget(targets)
		}
	}
	return nil
}

// addTargets adds the addresses that service is served on, each with the addresses of the pods behind it.
func (p *Proxy) addTargets(service *corev1.Service, wanted map[string][]string) {
	ip := service.Spec.ClusterIP
	if ip == "" || ip == corev1.ClusterIPNone || len(service.Spec.Selector) == 0 {
		return
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	pods := p.endpoints.Endpoints(service.Namespace, selector, service.Spec.PublishNotReadyAddresses)
	for _, port := range service.Spec.Ports {
		if port.Protocol != corev1.ProtocolTCP {
			continue
		}
		var targets []string
		for _, pod := range pods {
			// A pod that has no port of this name is no endpoint of this port.
			if target, err := endpointslice.FindPort(pod, &port); err == nil {
				targets = append(targets, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(target)))
			}
		}
		if len(targets) == 0 {
			continue
		}
		slices.Sort(targets)
		for _, address := range p.addresses(service, port.Port) {
			wanted[address] = targets
		}
	}
}

// addresses returns where a port of service is served.
func (p *Proxy) addresses(service *corev1.Service, port int32) []string {
	addresses := []string{net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(p.ports.Served(port))))}
	for _, exposure := range p.exposures {
		if exposure.isOf(service, port) {
			addresses = append(addresses, exposure.Address)
		}
	}
	return addresses
}

// listen begins to serve address, if it can be had: otherwise it is tried again later.
func (p *Proxy) listen(ctx context.Context, address string) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", address)
	if err != nil {
		p.log.Warn("cannot serve a service address yet", "address", address, "error", err)
		return
	}
	forwarder := newForwarder(listener)
	p.forwarder[address] = forwarder
	p.running.Go(func() { forwarder.serve(ctx) })
}
