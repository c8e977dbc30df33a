// Package kubeletapi serves the part of the kubelet's API that the API server asks for: logs, pods and
// health.
package kubeletapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	readHeaderTimeout = 10 * time.Second
	shutdownTimeout   = time.Second
)

// Pods is what the API tells about.
type Pods interface {
	GetPods(ctx context.Context) ([]*corev1.Pod, error)
	// OpenLog opens the log of a container, or that of its previous run. The function tells whether its
	// writer has ended. What is wrong with a request is said by errors of virtual-kubelet's package errdefs.
	OpenLog(namespace, name, container string, previous bool) (*os.File, func() bool, error)
}

// Options are the files of the API's own certificate and of the authority that clients must have theirs from.
type Options struct {
	Address  string
	CertFile string
	KeyFile  string
	ClientCA string
}

// Server serves the API.
type Server struct {
	options Options
	http    *http.Server
}

// New makes a server of the API for pods.
func New(options Options, pods Pods, log *slog.Logger) (*Server, error) {
	authority, err := os.ReadFile(options.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("client CA: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("client CA: %s holds no certificate in PEM form", options.ClientCA)
	}
	return &Server{options: options, http: &http.Server{
		Addr:              options.Address,
		Handler:           Handler(pods),
		ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs:  clients,
		},
	}}, nil
}

// Run serves until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.shutdown)
	defer stop()
	err := s.http.ListenAndServeTLS(s.options.CertFile, s.options.KeyFile)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("kubelet API: %w", err)
}

// shutdown lets answers that are under way end, and then cuts off those that follow a log.
func (s *Server) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}

// Handler answers the requests of the API, whoever sends them.
func Handler(pods Pods) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /pods", func(w http.ResponseWriter, r *http.Request) { listPods(w, r, pods) })
	mux.HandleFunc(
		"GET /containerLogs/{namespace}/{pod}/{container}",
		func(w http.ResponseWriter, r *http.Request) {
			streamLog(w, r, pods)
		},
	)
	for _, path := range []string{"/exec/", "/attach/", "/portForward/", "/run/"} {
		mux.HandleFunc(path, notContained)
	}
	return mux
}

func listPods(w http.ResponseWriter, r *http.Request, pods Pods) {
	objects, err := pods.GetPods(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, object := range objects {
		list.Items = append(list.Items, *object)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// notContained answers what needs a container to enter.
func notContained(w http.ResponseWriter, _ *http.Request) {
	http.Error(
		w,
		"the pods of this node are host processes without containers: nothing can be run inside them or "+
			"attached to them; reach their ports at the pod's address",
		http.StatusNotImplemented,
	)
}
