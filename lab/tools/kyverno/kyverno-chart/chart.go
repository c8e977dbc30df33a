package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	metadataFile = "Chart.yaml"
	// lockFile lists the dependencies with a digest of their list; "helm dependency build" alone reads it.
	lockFile   = "Chart.lock"
	chartsPath = "charts"
	apiChart   = "kyverno-api"

	composedAnnotation = "flux-tenancy.dev/composed"
)

// ignored are the paths that the chart's .helmignore keeps out of the archive, beside that file itself.
var ignored = []string{".helmignore", "ci", "README.md.gotmpl"}

// metadata is what a Chart.yaml says.
type metadata map[string]any

// chart is a Helm chart in memory.
type chart struct {
	metadata metadata
	// files are all but the Chart.yaml, by path inside the chart.
	files map[string][]byte
}

func readChart(folder string) (*chart, error) {
	read := &chart{files: map[string][]byte{}}
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(ignored, name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() || name == lockFile {
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if name == metadataFile {
			return yaml.Unmarshal(content, &read.metadata)
		}
		read.files[name] = content
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("chart in %s: %w", folder, err)
	}
	if read.metadata == nil {
		return nil, fmt.Errorf("chart in %s: there is no %s", folder, metadataFile)
	}
	return read, nil
}

// vendor adds api as the dependency of its name, in the version that the chart asks for, and takes those dependencies
// out of its list that are not in the chart.
func (c *chart) vendor(api *chart, from module) error {
	listed, _ := c.metadata["dependencies"].([]any)
	kept, left := []any{}, []string{}
	for _, each := range listed {
		dependency, _ := each.(map[string]any)
		name, _ := dependency["name"].(string)
		switch {
		case name == apiChart:
			api.metadata["version"] = dependency["version"]
			if err := c.add(api); err != nil {
				return err
			}
			kept = append(kept, dependency)
		case c.files[path.Join(chartsPath, name, "values.yaml")] != nil:
			kept = append(kept, dependency)
		default:
			left = append(left, name)
		}
	}
	if api.metadata["version"] == nil {
		return fmt.Errorf("the chart does not depend on %s", apiChart)
	}
	c.metadata["dependencies"] = kept
	annotations, _ := c.metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		c.metadata["annotations"] = annotations
	}
	annotations[composedAnnotation] = fmt.Sprintf(
		"%s is that of the Go module %s %s; left out, since off by default: %s",
		apiChart, from.Path, from.Version, strings.Join(left, ", "),
	)
	return nil
}

// add puts dependency into the chart.
func (c *chart) add(dependency *chart) error {
	name, _ := dependency.metadata["name"].(string)
	content, err := yaml.Marshal(dependency.metadata)
	if err != nil {
		return err
	}
	c.files[path.Join(chartsPath, name, metadataFile)] = content
	for file, content := range dependency.files {
		c.files[path.Join(chartsPath, name, file)] = content
	}
	return nil
}

func (c *chart) archiveName() string {
	return fmt.Sprintf("%s-%s.tgz", c.metadata["name"], c.metadata["version"])
}

// archive packs the chart so that the same chart always makes the same bytes, with every version of Go: in order,
// without times, and without compression, whose outcome is nobody's promise.
func (c *chart) archive() ([]byte, error) {
	content, err := yaml.Marshal(c.metadata)
	if err != nil {
		return nil, err
	}
	files := maps.Clone(c.files)
	files[metadataFile] = content

	var packed bytes.Buffer
	compressor, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressor)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Name:    path.Join(fmt.Sprint(c.metadata["name"]), name),
			Mode:    0o644,
			Size:    int64(len(files[name])),
			ModTime: time.Unix(0, 0),
			Format:  tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
