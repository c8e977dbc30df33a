package services

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestRewriteNames(t *testing.T) {
	cases := map[string]string{
		"source-controller.flux-system.svc.cluster.local.":       "<source-controller/flux-system:0/0>",
		"source-controller.flux-system.svc.cluster.local":        "<source-controller/flux-system:0/0>",
		"source-controller.flux-system.svc.":                     "<source-controller/flux-system:0/0>",
		"source-controller.flux-system.svc":                      "<source-controller/flux-system:0/0>",
		"http://a.b.svc.cluster.local./path":                     "http://<a/b:0/80>/path",
		"https://a.b.svc:9443/hook?x=a.b.svc":                    "https://<a/b:9443/443>/hook?x=<a/b:0/0>",
		"a.b.svc:80,c.d.svc:81":                                  "<a/b:80/0>,<c/d:81/0>",
		"--events-addr=http://nc.flux-system.svc.cluster.local.": "--events-addr=http://<nc/flux-system:0/80>",
		"a.b.svc.example.com":                                    "a.b.svc.example.com",
		"a.b.svc.cluster.local.example.com":                      "a.b.svc.cluster.local.example.com",
		"a.b.svc.cluster.localhost":                              "a.b.svc.cluster.localhost",
		"pod-0.a.b.svc":                                          "pod-0.a.b.svc",
		"a.b.svcs":                                               "a.b.svcs",
		"a.b.svc:99999":                                          "a.b.svc:99999",
		"unknown.b.svc and a.b.svc":                              "unknown.b.svc and <a/b:0/0>",
		"no name at all":                                         "no name at all",
	}
	for text, want := range cases {
		got := RewriteNames(text, func(name Name) string {
			if name.Service == "unknown" {
				return ""
			}
			return fmt.Sprintf("<%s/%s:%d/%d>", name.Service, name.Namespace, name.Port, name.DefaultPort)
		})
		if got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func service(namespace, name, ip string, ports ...int32) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: ip, Selector: map[string]string{"app": name}},
	}
	for _, port := range ports {
		service.Spec.Ports = append(
			service.Spec.Ports,
			corev1.ServicePort{Name: fmt.Sprint(port), Port: port, Protocol: corev1.ProtocolTCP},
		)
	}
	return service
}

func lister(t *testing.T, services ...*corev1.Service) corev1listers.ServiceLister {
	t.Helper()
	indexer := cache.NewIndexer(
		cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	)
	for _, service := range services {
		if err := indexer.Add(service); err != nil {
			t.Fatal(err)
		}
	}
	return corev1listers.NewServiceLister(indexer)
}

func TestAddress(t *testing.T) {
	root, unprivileged := Ports{}, Ports{offset: unprivilegedOffset}
	web := service("b", "a", "127.65.0.7", 80, 8080)
	hook := service("b", "a", "127.65.0.8", 443)
	cases := []struct {
		name    string
		service *corev1.Service
		text    string
		ports   Ports
		want    string
	}{
		{"bare name", web, "a.b.svc", root, "127.65.0.7"},
		{"bare name, moved port", web, "a.b.svc", unprivileged, "127.65.0.7:20080"},
		{"URL", web, "http://a.b.svc/x", root, "http://127.65.0.7/x"},
		{"URL, moved port", web, "http://a.b.svc/x", unprivileged, "http://127.65.0.7:20080/x"},
		{"port that needs no root", web, "a.b.svc:8080", unprivileged, "127.65.0.7:8080"},
		{"port", web, "a.b.svc:80", root, "127.65.0.7:80"},
		{"port, moved", web, "a.b.svc:80", unprivileged, "127.65.0.7:20080"},
		{"port that the service has not", web, "a.b.svc:81", unprivileged, "127.65.0.7:81"},
		{"https", hook, "https://a.b.svc/", unprivileged, "https://127.65.0.8:20443/"},
		{"only port", hook, "a.b.svc", unprivileged, "127.65.0.8:20443"},
		{"headless", service("b", "a", corev1.ClusterIPNone, 80), "a.b.svc:80", root, "a.b.svc:80"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			resolver := NewResolver(lister(t, c.service), c.ports)
			if got := resolver.Rewrite(t.Context(), time.Now(), []string{c.text})[0]; got != c.want {
				t.Fatalf("%q became %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestExternalNames(t *testing.T) {
	web := service("b", "a", "127.65.0.7", 80)
	external := func(name, target string) *corev1.Service {
		other := service("b", name, "")
		other.Spec.Type, other.Spec.ExternalName = corev1.ServiceTypeExternalName, target
		return other
	}
	resolver := NewResolver(
		lister(t, web, external("inner", "a.b.svc.cluster.local"), external("outer", "example.com")), Ports{},
	)
	texts := []string{"http://inner.b.svc.cluster.local./x", "outer.b.svc"}
	got := resolver.Rewrite(t.Context(), time.Now(), texts)
	if want := []string{"http://127.65.0.7/x", "outer.b.svc"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestRewriteGivesUpOnMissingServices(t *testing.T) {
	resolver := NewResolver(lister(t), Ports{})
	longAgo := time.Now().Add(-2 * patience)
	if got := resolver.Rewrite(t.Context(), longAgo, []string{"a.b.svc"})[0]; got != "a.b.svc" {
		t.Fatalf("got %q", got)
	}
}
