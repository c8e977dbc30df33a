// Command node-agent is a node of a Kubernetes cluster on a machine without containers. It runs the pods
// whose images it knows as host processes, each with an address of its own, and takes all others as running.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	vklog "github.com/virtual-kubelet/virtual-kubelet/log"
	"github.com/virtual-kubelet/virtual-kubelet/log/klogv2"
	"k8s.io/klog/v2"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/services"
)

func main() {
	options, err := parseOptions(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	klog.SetSlogLogger(log)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx = vklog.WithLogger(ctx, klogv2.New(nil))
	if err := run(ctx, options, log); err != nil {
		log.Error("the node agent ends", "error", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	kubeconfig      string
	proxyKubeconfig string
	nodeName        string
	podCIDR         string
	kubeletAddress  string
	tlsCert         string
	tlsKey          string
	clientCA        string
	state           string
	images          string
	exposures       exposures
}

// exposures are a flag that may be given more than once, or not at all.
type exposures []services.Exposure

// String has nothing to say of a default.
func (e *exposures) String() string { return "" }

// Set adds the exposure that one use of the flag names.
func (e *exposures) Set(text string) error {
	exposure, err := services.ParseExposure(text)
	*e = append(*e, exposure)
	return err
}

// parseOptions reads the command line, and explains it where it is wrong.
func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("node-agent", flag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the node")
	flags.StringVar(
		&o.proxyKubeconfig,
		"proxy-kubeconfig",
		"",
		"kubeconfig `file` of what stands for kube-proxy and cluster DNS",
	)
	flags.StringVar(&o.nodeName, "node-name", "", "`name` under which the node registers")
	flags.StringVar(
		&o.podCIDR, "pod-cidr", "", "loopback `range` for the addresses of pods, such as 127.129.0.0/16",
	)
	flags.StringVar(&o.kubeletAddress, "kubelet-address", "", "`host:port` to serve the kubelet API on")
	flags.StringVar(&o.tlsCert, "tls-cert", "", "certificate `file` of the kubelet API")
	flags.StringVar(&o.tlsKey, "tls-key", "", "key `file` of the kubelet API")
	flags.StringVar(
		&o.clientCA,
		"client-ca",
		"",
		"`file` of the authority that clients of the kubelet API have their certificates from",
	)
	flags.StringVar(
		&o.state, "state", "", "`directory` for the files of pods; their logs go to ../logs/pods beside it",
	)
	flags.StringVar(&o.images, "images", "", "image table, a JSON `file`")
	flags.Var(
		&o.exposures,
		"expose",
		"`address=service` to serve a port of a service on, host:port=namespace/service:port; may be repeated",
	)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		if _, optional := f.Value.(*exposures); !optional && f.Value.String() == "" && err == nil {
			err = fmt.Errorf("flag --%s is needed", f.Name)
			fmt.Fprintln(os.Stderr, err)
		}
	})
	return o, err
}
