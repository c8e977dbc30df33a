// Command github-proxy lets a Gitea server stand in for a GitHub Enterprise one, to programs that use GitHub's
// REST API for what this project does with it, over plain HTTP and over HTTPS. All else, Git above all, it
// passes on as it is, with the address that was asked, by which Gitea and its Helm repositories name themselves.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// headerTimeout bounds how long a client may take to say what it wants; Git may then take its time.
const headerTimeout = 10 * time.Second

func main() {
	options, err := parseOptions(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options); err != nil {
		slog.Error("the proxy ends", "error", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	upstream *url.URL
	http     string
	https    string
	tlsCert  string
	tlsKey   string
}

// parseOptions reads the command line, and explains it where it is wrong.
func parseOptions(args []string) (options, error) {
	var o options
	var upstream string
	flags := flag.NewFlagSet("github-proxy", flag.ContinueOnError)
	flags.StringVar(&upstream, "upstream", "", "`URL` of the Gitea server")
	flags.StringVar(&o.http, "http", "", "`host:port` to serve plain HTTP on")
	flags.StringVar(&o.https, "https", "", "`host:port` to serve HTTPS on")
	flags.StringVar(&o.tlsCert, "tls-cert", "", "certificate `file` of HTTPS")
	flags.StringVar(&o.tlsKey, "tls-key", "", "key `file` of HTTPS")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		if f.Value.String() == "" && err == nil {
			err = fmt.Errorf("flag --%s is needed", f.Name)
		}
	})
	if err == nil {
		o.upstream, err = url.Parse(upstream)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return o, err
}

// run serves until ctx is done. It listens on both addresses before it answers on one of them, so whoever gets
// an answer knows that the other one is there too.
func run(ctx context.Context, o options) error {
	certificate, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return err
	}
	plain, err := net.Listen("tcp4", o.http)
	if err != nil {
		return err
	}
	encrypted, err := net.Listen("tcp4", o.https)
	if err != nil {
		return err
	}
	forHTTP, forHTTPS := newServers(newProxy(o.upstream), certificate)
	stop := context.AfterFunc(ctx, func() {
		forHTTP.Close()
		forHTTPS.Close()
	})
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- forHTTP.Serve(plain) }()
	go func() { ended <- forHTTPS.ServeTLS(encrypted, "", "") }()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newServers makes a server for each address. One for both would set itself up for HTTP/2 only once, and where plain
// HTTP begins first, offer it over TLS without having it.
func newServers(handler http.Handler, certificate tls.Certificate) (forHTTP, forHTTPS *http.Server) {
	forHTTP = &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	forHTTPS = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	return forHTTP, forHTTPS
}
