package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// accepting is a listener that tells when its server has set itself up.
type accepting struct {
	net.Listener
	begun func()
}

func (l accepting) Accept() (net.Conn, error) {
	l.begun()
	return l.Listener.Accept()
}

// Flux takes HTTP/2 where it is offered.
func TestHTTP2IsAnsweredThoughPlainHTTPBeginsFirst(t *testing.T) {
	trusted := httptest.NewUnstartedServer(nil)
	trusted.EnableHTTP2 = true
	trusted.StartTLS()
	defer trusted.Close()
	forHTTP, forHTTPS := newServers(http.NotFoundHandler(), trusted.TLS.Certificates[0])
	defer forHTTP.Close()
	defer forHTTPS.Close()
	plain, encrypted := listen(t), listen(t)
	begun := make(chan struct{})
	go func() { _ = forHTTP.Serve(accepting{plain, sync.OnceFunc(func() { close(begun) })}) }()
	<-begun
	go func() { _ = forHTTPS.ServeTLS(encrypted, "", "") }()

	response, err := trusted.Client().Get("https://" + encrypted.Addr().String())

	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("answered by %s, not by HTTP/2", response.Proto)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}
