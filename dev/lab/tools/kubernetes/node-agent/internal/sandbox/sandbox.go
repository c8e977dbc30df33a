// Package sandbox prepares what the processes of a pod find around them: directories in the place of volumes,
// their arguments and environment, and the credentials of their service account.
package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/images"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/limits"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/process"
	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/services"
)

// Builder makes the sandboxes of a node's pods.
type Builder struct {
	// Root is the directory that holds one directory for each pod.
	Root   string
	Client kubernetes.Interface
	// Server is the API server that the processes talk to, with their own credentials.
	Server   *rest.Config
	Services *services.Resolver
	// HostIP is the address of the node.
	HostIP string
	// Machine is what the machine has: the limits of containers whose manifest sets none.
	Machine corev1.ResourceList
}

// Sandbox is what the processes of one pod find around them.
type Sandbox struct {
	*Builder
	pod       *corev1.Pod
	simulated bool
	dir       string
	began     time.Time
	tokens    []*token
}

// New makes the sandbox of pod, whose status holds its address already. Nothing is written yet. In a simulated pod
// no process runs: what it asks of the API server is asked for, and volumes of other kinds are taken as given.
func (b *Builder) New(pod *corev1.Pod, simulated bool) *Sandbox {
	dir := filepath.Join(b.Root, directoryName(pod))
	return &Sandbox{Builder: b, pod: pod, simulated: simulated, dir: dir, began: time.Now()}
}

// RemoveOthers removes the directories that belong to none of pods.
func (b *Builder) RemoveOthers(pods []*corev1.Pod) error {
	entries, err := os.ReadDir(b.Root)
	if err != nil {
		return fmt.Errorf("directory of the pods: %w", err)
	}
	known := map[string]bool{}
	for _, pod := range pods {
		known[directoryName(pod)] = true
	}
	for _, entry := range entries {
		if known[entry.Name()] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(b.Root, entry.Name())); err != nil {
			return fmt.Errorf("directory of a pod that is gone: %w", err)
		}
	}
	return nil
}

// Prepare makes the pod's directories, volumes and credentials. It may be called again after an error.
func (s *Sandbox) Prepare(ctx context.Context) error {
	s.tokens = nil
	for _, dir := range []string{s.home(), s.defaultTemp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("directory of the pod: %w", err)
		}
	}
	for _, volume := range s.pod.Spec.Volumes {
		if err := s.makeVolume(ctx, volume); err != nil {
			// In the words of a kubelet.
			return fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", volume.Name, err)
		}
	}
	if s.simulated {
		return nil
	}
	return s.writeKubeconfig()
}

// KeepTokens renews the pod's tokens until ctx is done.
func (s *Sandbox) KeepTokens(ctx context.Context, report func(error)) {
	var keepers sync.WaitGroup
	for _, token := range s.tokens {
		keepers.Go(func() { token.keep(ctx, report) })
	}
	keepers.Wait()
}

// Refresh gives the volumes the present content of their Secrets and ConfigMaps, as a kubelet does within a minute.
func (s *Sandbox) Refresh(ctx context.Context) error {
	for _, volume := range s.pod.Spec.Volumes {
		if volume.Secret == nil && volume.ConfigMap == nil {
			continue
		}
		if err := s.makeVolume(ctx, volume); err != nil {
			return fmt.Errorf("volume %q: %w", volume.Name, err)
		}
	}
	return nil
}

// Command returns how to run program as container. The arguments of the manifest stand between those of the
// program and its overrides.
func (s *Sandbox) Command(
	ctx context.Context, container *corev1.Container, program images.Program,
) (process.Command, error) {
	program, err := program.For(images.Target{
		PodIP: s.pod.Status.PodIP, Namespace: s.pod.Namespace, PodName: s.pod.Name,
		ServiceAccount: s.pod.Spec.ServiceAccountName, Kubeconfig: s.kubeconfig(),
	})
	if err != nil {
		return process.Command{}, fmt.Errorf("image table, image %q: %w", container.Image, err)
	}
	variables, err := s.variables(ctx, container)
	if err != nil {
		return process.Command{}, err
	}
	args := expandAll(container.Args, variables)

	mounts := s.mounts(container)
	for i := range program.Args {
		program.Args[i] = rewritePaths(program.Args[i], mounts)
	}
	names, values := split(variables)
	texts := slices.Concat(args, values)
	for i := range texts {
		texts[i] = rewritePaths(texts[i], mounts)
	}
	texts = s.Services.Rewrite(ctx, s.began, texts)
	args, values = texts[:len(args)], texts[len(args):]

	return process.Command{
		Path: program.Binary,
		Args: slices.Concat(program.Args, args, program.Overrides),
		Env:  environment(s.defaults(mounts), program.Env, join(names, values)),
		Dir:  s.home(),
		// Unlike names, this is short enough for a directory.
		Group:  fmt.Sprintf("%s_%s", s.pod.UID, container.Name),
		Limits: limits.Of(container.Resources.Limits),
	}, nil
}

// Remove removes all that was prepared.
func (s *Sandbox) Remove() error {
	return os.RemoveAll(s.dir)
}

// mounts returns the directories that container mounts, longest path first.
func (s *Sandbox) mounts(container *corev1.Container) []mount {
	var mounts []mount
	for _, volume := range container.VolumeMounts {
		if path := strings.TrimRight(volume.MountPath, "/"); path != "" {
			mounts = append(
				mounts,
				mount{path: path, host: filepath.Join(s.volume(volume.Name), volume.SubPath)},
			)
		}
	}
	return longestFirst(mounts)
}

// defaults returns the variables that a process needs of its host; image table and manifest may say
// otherwise.
func (s *Sandbox) defaults(mounts []mount) map[string]string {
	defaults := map[string]string{
		"HOME":   s.home(),
		"PATH":   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"TMPDIR": s.defaultTemp(),
	}
	for _, mount := range mounts {
		switch mount.path {
		case "/tmp":
			defaults["TMPDIR"] = mount.host
		case serviceAccountPath:
			defaults["KUBECONFIG"] = s.kubeconfig()
		}
	}
	return defaults
}

func (s *Sandbox) home() string              { return filepath.Join(s.dir, "home") }
func (s *Sandbox) defaultTemp() string       { return filepath.Join(s.dir, "tmp") }
func (s *Sandbox) kubeconfig() string        { return filepath.Join(s.dir, "kubeconfig") }
func (s *Sandbox) volume(name string) string { return filepath.Join(s.dir, "volumes", name) }

func directoryName(pod *corev1.Pod) string {
	return fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID)
}
