package address

import (
	"testing"
)

func TestAcquire(t *testing.T) {
	pool, err := NewPool("127.129.0.0/30")
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(preferred, want string) {
		t.Helper()
		got, err := pool.Acquire(preferred)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Fatalf("Acquire(%q) = %s, want %s", preferred, got, want)
		}
	}
	acquire("", "127.129.0.1")
	acquire("127.129.0.3", "127.129.0.3")
	acquire("127.129.0.3", "127.129.0.2")
	if got, err := pool.Acquire(""); err == nil {
		t.Fatalf("a full pool gave %s", got)
	}
	pool.Release(pool.last)
	acquire("10.0.0.1", "127.129.0.2")
}

func TestReleasedAddressRests(t *testing.T) {
	pool, err := NewPool("127.129.0.0/29")
	if err != nil {
		t.Fatal(err)
	}
	first, _ := pool.Acquire("")
	pool.Release(first)
	if second, _ := pool.Acquire(""); second == first {
		t.Fatalf("%s was handed out again at once", first)
	}
}

func TestNewPoolRefuses(t *testing.T) {
	for _, cidr := range []string{"", "127.0.0.1", "10.0.0.0/16", "fd00::/64"} {
		if _, err := NewPool(cidr); err == nil {
			t.Errorf("NewPool(%q) was accepted", cidr)
		}
	}
}
