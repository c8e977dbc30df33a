package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	tokenLifetime = time.Hour
	// tokenRetryInterval is how soon a renewal that failed is tried again.
	tokenRetryInterval = 10 * time.Second
	// extendedLifetime is the lifetime, in seconds, that the admission plugin writes into each pod; for it
	// alone kube-apiserver issues a token of a whole year. Asking for anything else gives what was asked for.
	// https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/1205-bound-service-account-tokens
	extendedLifetime = 3607
)

// token is a file that holds a token of a pod's service account, bound to the pod: it dies with it.
type token struct {
	client  kubernetes.Interface
	pod     *corev1.Pod
	path    string
	request authenticationv1.TokenRequest
	due     time.Time
}

// newToken makes the token that projection asks for in the volume whose directory is dir.
func (s *Sandbox) newToken(dir string, projection *corev1.ServiceAccountTokenProjection) *token {
	seconds := int64(tokenLifetime.Seconds())
	if asked := projection.ExpirationSeconds; asked != nil && *asked != extendedLifetime {
		seconds = *asked
	}
	request := authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: s.pod.Name, UID: s.pod.UID,
		},
	}}
	if projection.Audience != "" {
		request.Spec.Audiences = []string{projection.Audience}
	}
	return &token{client: s.Client, pod: s.pod, path: filepath.Join(dir, projection.Path), request: request}
}

// keep renews the token whenever it is due, until ctx is done.
func (t *token) keep(ctx context.Context, report func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(t.due)):
		}
		if err := t.renew(ctx); err != nil && ctx.Err() == nil {
			report(err)
			t.due = time.Now().Add(tokenRetryInterval)
		}
	}
}

// renew writes a new token, which is due again when four fifths of its life are over.
func (t *token) renew(ctx context.Context) error {
	issued := time.Now()
	account := t.pod.Spec.ServiceAccountName
	answer, err := t.client.CoreV1().ServiceAccounts(t.pod.Namespace).
		CreateToken(ctx, account, &t.request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of service account %s: %w", account, err)
	}
	if err := replace(t.path, []byte(answer.Status.Token)); err != nil {
		return fmt.Errorf("token of service account %s: %w", account, err)
	}
	t.due = issued.Add(answer.Status.ExpirationTimestamp.Sub(issued) * 4 / 5)
	return nil
}

// replace writes a private file in one step: a reader finds the old content or the new, never a part.
func replace(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
