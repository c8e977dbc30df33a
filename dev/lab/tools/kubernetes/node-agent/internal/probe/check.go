// Package probe asks processes for their health, as the probes of their containers say.
package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"
)

// Check asks once; the error says what is wrong. It is made with the kubelet's own probers.
type Check func(ctx context.Context) error

// NewCheck makes the check that spec asks for. Exec probes cannot run without the container's file system, so
// they are taken as passed.
func NewCheck(spec *corev1.Probe, container *corev1.Container, podIP string) Check {
	timeout := time.Duration(spec.TimeoutSeconds) * time.Second
	switch {
	case spec.HTTPGet != nil:
		return httpCheck(spec.HTTPGet, container, podIP, timeout)
	case spec.TCPSocket != nil:
		return tcpCheck(spec.TCPSocket, container, podIP, timeout)
	case spec.GRPC != nil:
		return grpcCheck(spec.GRPC, podIP, timeout)
	default:
		return func(context.Context) error { return nil }
	}
}

func httpCheck(
	action *corev1.HTTPGetAction, container *corev1.Container, podIP string, timeout time.Duration,
) Check {
	const followNonLocalRedirects = false
	prober := httpprobe.New(followNonLocalRedirects)
	return func(ctx context.Context) error {
		request, err := httpprobe.NewRequestForHTTPGetAction(action, container, podIP, "probe")
		if err != nil {
			return err
		}
		return verdict(prober.Probe(request.WithContext(ctx), timeout))
	}
}

func tcpCheck(
	action *corev1.TCPSocketAction, container *corev1.Container, podIP string, timeout time.Duration,
) Check {
	host := action.Host
	if host == "" {
		host = podIP
	}
	return func(context.Context) error {
		port, err := probe.ResolveContainerPort(action.Port, container)
		if err != nil {
			return err
		}
		return verdict(tcpprobe.New().Probe(host, port, timeout))
	}
}

func grpcCheck(action *corev1.GRPCAction, podIP string, timeout time.Duration) Check {
	service := ""
	if action.Service != nil {
		service = *action.Service
	}
	return func(context.Context) error {
		return verdict(grpcprobe.New().Probe(podIP, service, int(action.Port), timeout, grpcprobe.ProbeOptions{}))
	}
}

// verdict makes an error of the three values that the kubelet's probers return.
func verdict(result probe.Result, output string, err error) error {
	switch {
	case err != nil:
		return err
	case result == probe.Success || result == probe.Warning:
		return nil
	case output == "":
		return errors.New("probe failed")
	default:
		return fmt.Errorf("probe failed: %s", output)
	}
}
