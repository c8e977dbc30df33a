// Package address hands out the loopback addresses of pods.
package address

import (
	"fmt"
	"net/netip"
	"sync"
)

// Pool gives each pod an address of its own. Addresses are handed out in turn, so one that was released rests
// for as long as possible before the next pod gets it.
type Pool struct {
	prefix netip.Prefix

	mu   sync.Mutex
	last netip.Addr
	used map[netip.Addr]bool
}

// NewPool makes a pool of the addresses of cidr, such as "127.129.0.0/16".
func NewPool(cidr string) (*Pool, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("pod range %q: %w", cidr, err)
	}
	prefix = prefix.Masked()
	if !prefix.Addr().Is4() || !prefix.Addr().IsLoopback() {
		return nil, fmt.Errorf(
			"pod range %q: only ranges inside 127.0.0.0/8 are answered by this machine alone", cidr,
		)
	}
	return &Pool{prefix: prefix, last: prefix.Addr(), used: map[netip.Addr]bool{}}, nil
}

// Acquire returns preferred if it is a free address of the pool, and otherwise the next free one.
func (p *Pool) Acquire(preferred string) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if addr, err := netip.ParseAddr(preferred); err == nil && p.free(addr) {
		p.used[addr] = true
		return addr, nil
	}
	for addr := p.after(p.last); ; addr = p.after(addr) {
		if p.free(addr) {
			p.last, p.used[addr] = addr, true
			return addr, nil
		}
		if addr == p.last {
			return netip.Addr{}, fmt.Errorf(
				"pod range %s: all %d addresses are in use", p.prefix, len(p.used),
			)
		}
	}
}

// Release gives addr back.
func (p *Pool) Release(addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, addr)
}

// free says whether addr may be handed out; the first address of a range names the network and never is.
func (p *Pool) free(addr netip.Addr) bool {
	return p.prefix.Contains(addr) && addr != p.prefix.Addr() && !p.used[addr]
}

// after returns the address that follows addr, beginning again at the end of the range.
func (p *Pool) after(addr netip.Addr) netip.Addr {
	if next := addr.Next(); p.prefix.Contains(next) {
		return next
	}
	return p.prefix.Addr()
}
