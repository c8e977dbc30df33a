package main

import (
	"fmt"
	"net"
	"runtime"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hostIP is the address of the node; its pods have addresses of their own in the same loopback network.
const hostIP = "127.0.0.1"

// limitsEnforced is the condition that says whether containers are kept within their limits. The lab's commands read
// it (lab/node.py).
const limitsEnforced corev1.NodeConditionType = "LimitsEnforced"

// capacity is what the node offers: more than any set of manifests asks for, since nothing is really set
// aside.
func capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1000"),
		corev1.ResourceMemory:           resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
}

// machine is what this machine has. Processes that ask for a limit that their manifest does not set are told
// this: they size themselves by it.
func machine() (corev1.ResourceList, error) {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return nil, fmt.Errorf("memory of this machine: %w", err)
	}
	memory := int64(info.Totalram) * int64(info.Unit)
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}, nil
}

// newNode describes the node. kubeletAddress is where its kubelet API listens, unlimited why its containers have no
// limits, or nil.
func newNode(name, kubeletAddress string, unlimited error) (*corev1.Node, error) {
	_, portText, err := net.SplitHostPort(kubeletAddress)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   runtime.GOOS,
			corev1.LabelArchStable: runtime.GOARCH,
		}},
		Status: corev1.NodeStatus{
			Capacity:    capacity(),
			Allocatable: capacity(),
			Conditions: []corev1.NodeCondition{
				{
					Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "NodeAgentReady",
					Message: "pods run as host processes", LastHeartbeatTime: now, LastTransitionTime: now,
				},
				limitsCondition(unlimited, now),
			},
			// No host name: the API server would rather call the kubelet by that, and nothing resolves it.
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostIP}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{
				KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)},
			},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
				KubeletVersion: "v1.37.2-node-agent", ContainerRuntimeVersion: "process://host",
			},
		},
	}, nil
}

func limitsCondition(unlimited error, now metav1.Time) corev1.NodeCondition {
	condition := corev1.NodeCondition{
		Type: limitsEnforced, Status: corev1.ConditionTrue, Reason: "ControlGroups",
		Message: "containers run in control groups", LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if unlimited != nil {
		condition.Status, condition.Reason = corev1.ConditionFalse, "NoControlGroups"
		condition.Message = unlimited.Error()
	}
	return condition
}
