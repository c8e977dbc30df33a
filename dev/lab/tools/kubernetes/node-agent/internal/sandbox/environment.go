package sandbox

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// variables returns the environment that the manifest gives to container, resolved as a kubelet would. The
// variables that announce the services of a namespace are left out, except in what refers to those of the API
// server: a host process would find addresses that mean nothing to it.
func (s *Sandbox) variables(ctx context.Context, container *corev1.Container) (map[string]string, error) {
	variables := map[string]string{}
	for _, source := range container.EnvFrom {
		if err := s.addAll(ctx, source, variables); err != nil {
			return nil, err
		}
	}
	for _, variable := range container.Env {
		value, set, err := s.value(ctx, container, variable, variables)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
		}
		if set {
			variables[variable.Name] = value
		}
	}
	return variables, nil
}

// apiServer returns the variables that a kubelet announces the API server with.
func (s *Sandbox) apiServer() map[string]string {
	server, err := url.Parse(s.Server.Host)
	if err != nil {
		return nil
	}
	return map[string]string{
		"KUBERNETES_SERVICE_HOST": server.Hostname(), "KUBERNETES_SERVICE_PORT": server.Port(),
	}
}

// addAll adds each entry of a ConfigMap or a Secret to variables.
func (s *Sandbox) addAll(
	ctx context.Context, source corev1.EnvFromSource, variables map[string]string,
) error {
	var entries map[string][]byte
	var err error
	switch {
	case source.ConfigMapRef != nil:
		entries, err = s.configMap(ctx, source.ConfigMapRef.Name, source.ConfigMapRef.Optional)
	case source.SecretRef != nil:
		entries, err = s.secret(ctx, source.SecretRef.Name, source.SecretRef.Optional)
	}
	for key, value := range entries {
		variables[source.Prefix+key] = string(value)
	}
	return err
}

// value returns the value of variable, and whether it has one: what an optional reference names may not
// exist.
func (s *Sandbox) value(
	ctx context.Context, container *corev1.Container, variable corev1.EnvVar, earlier map[string]string,
) (value string, set bool, err error) {
	from := variable.ValueFrom
	switch {
	case from == nil:
		mapping := expansion.MappingFuncFor(earlier, s.apiServer())
		return expansion.Expand(variable.Value, mapping), true, nil
	case from.FieldRef != nil:
		value, err = s.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = s.resource(from.ResourceFieldRef, container.Name)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		entries, err := s.configMap(ctx, ref.Name, ref.Optional)
		return entry(entries, err, "ConfigMap "+ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		entries, err := s.secret(ctx, ref.Name, ref.Optional)
		return entry(entries, err, "Secret "+ref.Name, ref.Key, ref.Optional)
	default:
		return "", false, fmt.Errorf("the node agent does not know this kind of source")
	}
}

func entry(
	entries map[string][]byte, err error, owner, key string, optional *bool,
) (value string, set bool, _ error) {
	if err != nil {
		return "", false, err
	}
	found, set := entries[key]
	if !set && !isTrue(optional) {
		return "", false, fmt.Errorf("%s has no key %q", owner, key)
	}
	return string(found), set, nil
}

// field returns the value of a field of the pod, including those that only its node knows.
func (s *Sandbox) field(path string) (string, error) {
	switch path {
	case "spec.nodeName":
		return s.pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return s.pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return s.HostIP, nil
	case "status.podIP", "status.podIPs":
		return s.pod.Status.PodIP, nil
	default:
		return fieldpath.ExtractFieldPathAsString(s.pod, path)
	}
}

// resource returns a limit or request of a container, by default the one that asks.
func (s *Sandbox) resource(selector *corev1.ResourceFieldSelector, asking string) (string, error) {
	name := selector.ContainerName
	if name == "" {
		name = asking
	}
	return resource.ExtractResourceValueByContainerNameAndNodeAllocatable(selector, s.pod, name, s.Machine)
}

// configMap returns the entries of a ConfigMap of the pod's namespace, none if it is optional and does not
// exist.
func (s *Sandbox) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	configMap, err := s.Client.CoreV1().ConfigMaps(s.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	entries := maps.Clone(configMap.BinaryData)
	if entries == nil {
		entries = make(map[string][]byte, len(configMap.Data))
	}
	for key, value := range configMap.Data {
		entries[key] = []byte(value)
	}
	return entries, nil
}

// secret returns the entries of a Secret of the pod's namespace, none if it is optional and does not exist.
func (s *Sandbox) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	secret, err := s.Client.CoreV1().Secrets(s.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	return secret.Data, nil
}

func unlessOptional(err error, optional *bool) error {
	if isTrue(optional) && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func isTrue(flag *bool) bool { return flag != nil && *flag }

// expandAll replaces $(NAME) in each of texts by the variable of that name, as Kubernetes does.
func expandAll(texts []string, variables map[string]string) []string {
	expanded := make([]string, len(texts))
	for i, text := range texts {
		expanded[i] = expansion.Expand(text, expansion.MappingFuncFor(variables))
	}
	return expanded
}

// split returns the names of variables in order, and their values in the same one.
func split(variables map[string]string) (names, values []string) {
	names = slices.Sorted(maps.Keys(variables))
	for _, name := range names {
		values = append(values, variables[name])
	}
	return names, values
}

// join is the reverse of [split].
func join(names, values []string) map[string]string {
	variables := make(map[string]string, len(names))
	for i, name := range names {
		variables[name] = values[i]
	}
	return variables
}

// environment merges layers, of which later ones win, into the form that a process is given.
func environment(layers ...map[string]string) []string {
	merged := map[string]string{}
	for _, layer := range layers {
		maps.Copy(merged, layer)
	}
	entries := make([]string, 0, len(merged))
	for name, value := range merged {
		entries = append(entries, name+"="+value)
	}
	slices.SortFunc(entries, strings.Compare)
	return entries
}
