package services

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialTimeout bounds the wait for a pod to accept a connection.
const dialTimeout = 5 * time.Second

// forwarder accepts connections on one address and passes each on to one of its targets, in turn.
type forwarder struct {
	listener net.Listener
	targets  atomic.Pointer[[]string]
	turn     atomic.Uint32
}

func newForwarder(listener net.Listener) *forwarder {
	forwarder := &forwarder{listener: listener}
	forwarder.retarget(nil)
	return forwarder
}

// retarget changes where new connections go; those that exist stay where they are.
func (f *forwarder) retarget(targets []string) {
	f.targets.Store(&targets)
}

// close ends accepting.
func (f *forwarder) close() {
	_ = f.listener.Close()
}

// serve accepts connections until the forwarder is closed or ctx is done, which also ends all connections.
func (f *forwarder) serve(ctx context.Context) {
	stop := context.AfterFunc(ctx, f.close)
	defer stop()
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.forward(ctx, client)
	}
}

// forward joins client to the first target, beginning with the one whose turn it is, that accepts a
// connection.
func (f *forwarder) forward(ctx context.Context, client net.Conn) {
	defer client.Close()
	targets := *f.targets.Load()
	first := int(f.turn.Add(1))
	for i := range targets {
		dialer := net.Dialer{Timeout: dialTimeout}
		server, err := dialer.DialContext(ctx, "tcp4", targets[(first+i)%len(targets)])
		if err != nil {
			continue
		}
		defer server.Close()
		stop := context.AfterFunc(ctx, func() { client.Close(); server.Close() })
		defer stop()
		join(client, server)
		return
	}
}

// join copies both ways until both sides have said all. The end of what one side says is passed on to the
// other, for protocols in which one side ends first; an error ends both.
func join(a, b net.Conn) {
	var directions sync.WaitGroup
	directions.Go(func() { pass(a, b) })
	directions.Go(func() { pass(b, a) })
	directions.Wait()
}

func pass(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
