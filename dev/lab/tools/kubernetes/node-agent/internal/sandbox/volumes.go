package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"

	corev1 "k8s.io/api/core/v1"
)

// files are the contents of a volume by path inside it.
type files map[string][]byte

// errUnsupportedVolume is returned for the kinds of volumes that a host process cannot be given.
var errUnsupportedVolume = errors.New(
	"the node agent knows emptyDir, configMap, secret, downwardAPI and projected volumes, and no other kind")

// makeVolume makes the directory that stands for volume. What a pod left in an emptyDir survives the agent.
func (s *Sandbox) makeVolume(ctx context.Context, volume corev1.Volume) error {
	dir := s.volume(volume.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if volume.EmptyDir != nil {
		return nil
	}
	content, err := s.content(ctx, dir, volume)
	if err != nil {
		return err
	}
	return write(dir, content)
}

// content returns the files of volume, whose directory is dir.
func (s *Sandbox) content(ctx context.Context, dir string, volume corev1.Volume) (files, error) {
	switch {
	case volume.ConfigMap != nil:
		entries, err := s.configMap(ctx, volume.ConfigMap.Name, volume.ConfigMap.Optional)
		return selected(entries, err, volume.ConfigMap.Items, volume.ConfigMap.Optional)
	case volume.Secret != nil:
		entries, err := s.secret(ctx, volume.Secret.SecretName, volume.Secret.Optional)
		return selected(entries, err, volume.Secret.Items, volume.Secret.Optional)
	case volume.DownwardAPI != nil:
		return s.downward(volume.DownwardAPI.Items)
	case volume.Projected != nil:
		content := files{}
		for _, source := range volume.Projected.Sources {
			part, err := s.projection(ctx, dir, source)
			if err != nil {
				return nil, err
			}
			maps.Copy(content, part)
		}
		return content, nil
	default:
		return nil, s.unsupported()
	}
}

// projection returns the files of one source of a projected volume.
func (s *Sandbox) projection(ctx context.Context, dir string, source corev1.VolumeProjection) (files, error) {
	switch {
	case source.ConfigMap != nil:
		entries, err := s.configMap(ctx, source.ConfigMap.Name, source.ConfigMap.Optional)
		return selected(entries, err, source.ConfigMap.Items, source.ConfigMap.Optional)
	case source.Secret != nil:
		entries, err := s.secret(ctx, source.Secret.Name, source.Secret.Optional)
		return selected(entries, err, source.Secret.Items, source.Secret.Optional)
	case source.DownwardAPI != nil:
		return s.downward(source.DownwardAPI.Items)
	case source.ServiceAccountToken != nil:
		token := s.newToken(dir, source.ServiceAccountToken)
		s.tokens = append(s.tokens, token)
		return nil, token.renew(ctx)
	default:
		return nil, s.unsupported()
	}
}

// unsupported returns what becomes of a volume of another kind.
func (s *Sandbox) unsupported() error {
	if s.simulated {
		return nil
	}
	return errUnsupportedVolume
}

// selected returns the entries that items name, under the paths that they say, or all if there are no items.
func selected(entries map[string][]byte, err error, items []corev1.KeyToPath, optional *bool) (files, error) {
	if err != nil || len(items) == 0 {
		return entries, err
	}
	content := files{}
	for _, item := range items {
		value, exists := entries[item.Key]
		if !exists {
			if isTrue(optional) {
				continue
			}
			return nil, fmt.Errorf("there is no key %q", item.Key)
		}
		content[item.Path] = value
	}
	return content, nil
}

// downward returns the fields of the pod that items name.
func (s *Sandbox) downward(items []corev1.DownwardAPIVolumeFile) (files, error) {
	content := files{}
	for _, item := range items {
		var value string
		var err error
		if item.FieldRef != nil {
			value, err = s.field(item.FieldRef.FieldPath)
		} else {
			value, err = s.resource(item.ResourceFieldRef, item.ResourceFieldRef.ContainerName)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", item.Path, err)
		}
		content[item.Path] = []byte(value)
	}
	return content, nil
}

// write puts content below dir and nowhere else.
func write(dir string, content files) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, value := range content {
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, value, 0o600); err != nil {
			return err
		}
	}
	return nil
}
