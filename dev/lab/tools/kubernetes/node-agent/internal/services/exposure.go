package services

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Exposure serves a port of a service on an address that is known to who is outside of the cluster, as a load
// balancer does. The service need not exist yet.
type Exposure struct {
	// Address is host:port.
	Address         string
	Namespace, Name string
	// Port is that of the service.
	Port int32
}

// ParseExposure reads an exposure written as host:port=namespace/service:port.
func ParseExposure(text string) (Exposure, error) {
	address, service, _ := strings.Cut(text, "=")
	namespace, service, _ := strings.Cut(service, "/")
	name, portText, _ := strings.Cut(service, ":")
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || namespace == "" || name == "" {
		return Exposure{}, fmt.Errorf("%q is not host:port=namespace/service:port", text)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return Exposure{}, fmt.Errorf("%q: %w", text, err)
	}
	return Exposure{Address: address, Namespace: namespace, Name: name, Port: int32(port)}, nil
}

// isOf tells whether the exposure is of a port of service.
func (e Exposure) isOf(service *corev1.Service, port int32) bool {
	return e.Namespace == service.Namespace && e.Name == service.Name && e.Port == port
}
