package services

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// pods are endpoints by fiat.
type pods []*corev1.Pod

func (p pods) Endpoints(namespace string, selector labels.Selector, _ bool) []*corev1.Pod {
	var selected []*corev1.Pod
	for _, pod := range p {
		if pod.Namespace == namespace && selector.Matches(labels.Set(pod.Labels)) {
			selected = append(selected, pod)
		}
	}
	return selected
}

// webPod is a pod whose port "http" is a server that answers with its name.
func webPod(t *testing.T, name, ip string) *corev1.Pod {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, name)
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	port := listener.Addr().(*net.TCPAddr).Port
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{
				Ports: []corev1.ContainerPort{
					{Name: "http", ContainerPort: int32(port), Protocol: corev1.ProtocolTCP},
				},
			},
		}},
		Status: corev1.PodStatus{PodIP: ip},
	}
}

func freePort(t *testing.T, ip string) int32 {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

func get(url string) (string, error) {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// webService is a service on a free port of ip with the pods of webPod behind it.
func webService(t *testing.T, ip string) *corev1.Service {
	t.Helper()
	web := service("dev", "web", ip, freePort(t, ip))
	web.Spec.Ports[0].TargetPort = intstr.FromString("http")
	return web
}

// reconciled is a proxy that has seen service, and what makes it look again.
func reconciled(t *testing.T, service *corev1.Service, behind Endpoints, exposures ...Exposure) func() {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(service), 0)
	proxy, err := NewProxy(
		factory.Core().V1().Services(), behind, Ports{}, exposures, slog.New(slog.DiscardHandler),
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	reconcile := func() {
		if err := proxy.reconcile(ctx); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	return reconcile
}

func TestProxyForwardsInTurnAndRefusesWithoutPods(t *testing.T) {
	const ip = "127.65.99.1"
	web := webService(t, ip)
	behind := pods{webPod(t, "one", "127.129.99.1"), webPod(t, "two", "127.129.99.2")}
	reconcile := reconciled(t, web, &behind)

	url := "http://" + net.JoinHostPort(ip, strconv.Itoa(int(web.Spec.Ports[0].Port)))
	answers := map[string]int{}
	for range 4 {
		answer, err := get(url)
		if err != nil {
			t.Fatal(err)
		}
		answers[answer]++
	}
	if answers["one"] != 2 || answers["two"] != 2 {
		t.Errorf("the pods answered %v", answers)
	}

	behind = nil
	reconcile()
	if answer, err := get(url); err == nil {
		t.Errorf("a service without pods answered %q", answer)
	}
}

// expectRefusal fails the test if anybody listens on address.
func expectRefusal(t *testing.T, address string) {
	t.Helper()
	if connection, err := net.Dial("tcp", address); err == nil {
		connection.Close()
		t.Errorf("%s accepts connections", address)
	}
}

func TestAnExposedPortIsServedOnBothAddressesWhileThereArePods(t *testing.T) {
	const ip, outside = "127.65.99.3", "127.0.0.1"
	web := webService(t, ip)
	exposed := Exposure{
		Address:   net.JoinHostPort(outside, strconv.Itoa(int(freePort(t, outside)))),
		Namespace: "dev", Name: "web", Port: web.Spec.Ports[0].Port,
	}
	other := exposed
	other.Address, other.Name = net.JoinHostPort(outside, strconv.Itoa(int(freePort(t, outside)))), "other"
	behind := pods{}
	reconcile := reconciled(t, web, &behind, exposed, other)

	expectRefusal(t, exposed.Address)
	behind = pods{webPod(t, "one", "127.129.99.3")}
	reconcile()
	inside := net.JoinHostPort(ip, strconv.Itoa(int(web.Spec.Ports[0].Port)))
	for _, address := range []string{inside, exposed.Address} {
		if answer, err := get("http://" + address); err != nil || answer != "one" {
			t.Errorf("%s answered %q, %v", address, answer, err)
		}
	}
	expectRefusal(t, other.Address)
	behind = nil
	reconcile()
	expectRefusal(t, exposed.Address)
}

func TestParseExposure(t *testing.T) {
	got, err := ParseExposure("127.0.0.1:20816=flux-system/webhook-receiver:80")
	want := Exposure{Address: "127.0.0.1:20816", Namespace: "flux-system", Name: "webhook-receiver", Port: 80}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, wrong := range []string{
		"", "127.0.0.1:1", "127.0.0.1:1=a/b", "127.0.0.1:1=a:80", "127.0.0.1:1=/b:80", "127.0.0.1:1=a/:80",
		"127.0.0.1:1=a/b:http", "127.0.0.1:1=a/b:70000", "127.0.0.1=a/b:80", "=a/b:80",
	} {
		if got, err := ParseExposure(wrong); err == nil {
			t.Errorf("%q became %+v", wrong, got)
		}
	}
}
