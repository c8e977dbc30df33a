package services

import (
	"context"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
)

const (
	// patience is how long a pod's start waits for a service that does not exist yet: manifests are applied
	// together, in no order that a pod may rely on.
	patience     = 10 * time.Second
	lookInterval = 200 * time.Millisecond
)

// Resolver turns the DNS names of services into the addresses that the proxy serves.
type Resolver struct {
	services corev1listers.ServiceLister
	ports    Ports
}

// NewResolver makes a resolver of the services in lister.
func NewResolver(services corev1listers.ServiceLister, ports Ports) *Resolver {
	return &Resolver{services: services, ports: ports}
}

// Rewrite replaces the service names in each of texts. It waits for services that do not exist yet until they
// do, or until they have been waited for since the given time for long enough; then their names stay.
func (r *Resolver) Rewrite(ctx context.Context, since time.Time, texts []string) []string {
	rewritten := make([]string, len(texts))
	for {
		missing := false
		for i, text := range texts {
			rewritten[i] = RewriteNames(text, func(name Name) string {
				service, err := r.find(name)
				if err != nil {
					missing = true
					return ""
				}
				return address(service, name, r.ports)
			})
		}
		if !missing || time.Since(since) > patience {
			return rewritten
		}
		select {
		case <-ctx.Done():
			return rewritten
		case <-time.After(lookInterval):
		}
	}
}

// find returns the service that name means: one of type ExternalName leads to the service that it names, if
// it names one of this cluster, as its record in cluster DNS would.
func (r *Resolver) find(name Name) (*corev1.Service, error) {
	service, err := r.services.Services(name.Namespace).Get(name.Service)
	if err != nil || service.Spec.Type != corev1.ServiceTypeExternalName {
		return service, err
	}
	if match := serviceName.FindStringSubmatch(service.Spec.ExternalName); match != nil {
		return r.services.Services(match[2]).Get(match[1])
	}
	return service, nil
}

// address returns where the proxy serves the port of service that name means, "" if the service has no
// address. The port is left out where a reader of the name would use the right one anyway.
func address(service *corev1.Service, name Name, ports Ports) string {
	ip := service.Spec.ClusterIP
	if ip == "" || ip == corev1.ClusterIPNone {
		return ""
	}
	if name.Port != 0 {
		return net.JoinHostPort(ip, strconv.Itoa(int(served(service, name.Port, ports))))
	}
	implied := name.DefaultPort
	if implied == 0 {
		implied = soleOrHTTPPort(service)
	}
	if port := served(service, implied, ports); port != implied {
		return net.JoinHostPort(ip, strconv.Itoa(int(port)))
	}
	return ip
}

// served returns the port that is served for a port of service, and any other port as it is.
func served(service *corev1.Service, port int32, ports Ports) int32 {
	for _, candidate := range service.Spec.Ports {
		if candidate.Port == port {
			return ports.Served(port)
		}
	}
	return port
}

// soleOrHTTPPort guesses the port of a bare host name: 80 where the service has it, otherwise its first.
func soleOrHTTPPort(service *corev1.Service) int32 {
	for _, port := range service.Spec.Ports {
		if port.Port == 80 {
			return port.Port
		}
	}
	if len(service.Spec.Ports) == 0 {
		return 0
	}
	return service.Spec.Ports[0].Port
}
