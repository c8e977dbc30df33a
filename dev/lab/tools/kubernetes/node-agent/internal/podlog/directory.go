// Package podlog keeps the logs of containers as plain files and streams them to readers.
package podlog

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// kept is how many logs of pods that are gone stay for each container of a workload.
const kept = 5

const (
	suffix         = ".log"
	previousSuffix = ".previous.log"
)

// Directory holds the logs of all pods, one file for each container, and one more for its previous run.
type Directory struct {
	path string
}

// Open makes the log directory if it does not exist.
func Open(path string) (*Directory, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("log directory: %w", err)
	}
	return &Directory{path: path}, nil
}

// Current returns the path of the log of a container's latest run.
func (d *Directory) Current(pod *corev1.Pod, container string) string {
	return filepath.Join(d.path, baseName(pod, container)+suffix)
}

// Previous returns the path of the log of the run before that.
func (d *Directory) Previous(pod *corev1.Pod, container string) string {
	return filepath.Join(d.path, baseName(pod, container)+previousSuffix)
}

// Begin makes the log of a new run of a container, and keeps that of the run before.
func (d *Directory) Begin(pod *corev1.Pod, container string) (*os.File, error) {
	current := d.Current(pod, container)
	if err := os.Rename(current, d.Previous(pod, container)); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return os.OpenFile(current, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
}

// Prune removes the oldest logs of the workload that gone belonged to. Those of the living pods are not
// counted.
func (d *Directory) Prune(gone *corev1.Pod, living []*corev1.Pod) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("log directory: %w", err)
	}
	modified := map[string]time.Time{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			modified[entry.Name()] = info.ModTime()
		}
	}
	for _, container := range gone.Spec.Containers {
		for _, name := range superfluous(modified, gone, container.Name, living) {
			if err := os.Remove(filepath.Join(d.path, name)); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// superfluous picks the logs to remove out of the files by their time of modification.
func superfluous(
	modified map[string]time.Time, gone *corev1.Pod, container string, living []*corev1.Pod,
) []string {
	inUse := map[string]bool{}
	for _, pod := range living {
		inUse[baseName(pod, container)] = true
	}
	var names []string
	siblings := siblingsOf(gone, container)
	for name := range modified {
		base := strings.TrimSuffix(strings.TrimSuffix(name, suffix), ".previous")
		if siblings.MatchString(base) && !inUse[base] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return modified[b].Compare(modified[a]) })
	return names[min(kept, len(names)):]
}

// siblingsOf matches the logs of all pods that the workload of pod has had: Deployments name theirs
// <deployment>-<template hash>-<random>, other owners <owner>-<random>.
func siblingsOf(pod *corev1.Pod, container string) *regexp.Regexp {
	name := regexp.QuoteMeta(pod.Name)
	if pod.GenerateName != "" {
		workload := strings.TrimSuffix(pod.GenerateName, "-")
		random := "-[a-z0-9]{5}"
		if hash := pod.Labels["pod-template-hash"]; hash != "" {
			workload = strings.TrimSuffix(workload, "-"+hash)
			random = "-[a-z0-9]{1,10}" + random
		}
		name = regexp.QuoteMeta(workload) + random
	}
	return regexp.MustCompile(
		"^" + regexp.QuoteMeta(pod.Namespace) + "_" + name + "_" + regexp.QuoteMeta(container) + "$",
	)
}

// baseName is unambiguous: none of the three names can hold an underscore.
func baseName(pod *corev1.Pod, container string) string {
	return pod.Namespace + "_" + pod.Name + "_" + container
}
