package services

import (
	"errors"
	"net"
	"syscall"
)

const (
	firstUnprivilegedPort = 1024
	// unprivilegedOffset moves the ports that only root may listen on to where anyone may.
	unprivilegedOffset = 20000
)

// Ports says on which port the proxy serves a port of a service.
type Ports struct {
	offset int32
}

// DetectPorts finds out whether this process may listen on ports below 1024.
func DetectPorts() Ports {
	listener, err := net.Listen("tcp", "127.0.0.1:1")
	if errors.Is(err, syscall.EACCES) {
		return Ports{offset: unprivilegedOffset}
	}
	if err == nil {
		listener.Close()
	}
	return Ports{}
}

// Served returns the port that is served in the place of port.
func (p Ports) Served(port int32) int32 {
	if port < firstUnprivilegedPort {
		return port + p.offset
	}
	return port
}
