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

	composedAnnotation = "flux-tenancy.dev/composed"
)

// ignored are the paths that the charts' .helmignore keep out of the archive, beside that file itself, and the values
// that charts are tested with.
var ignored = []string{".helmignore", "ci", "README.md.gotmpl", "artifacthub-repo.yml"}

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

// release sets the versions that Capsule's release workflow passes to "helm package".
func (c *chart) release(version string) {
	number := strings.TrimPrefix(version, "v")
	c.metadata["version"], c.metadata["appVersion"] = number, number
}

// vendor adds dependencies in the versions that the chart asks for, and takes those out of its list that are not in the
// chart then.
func (c *chart) vendor(dependencies []dependency) error {
	byName := map[string]dependency{}
	for _, each := range dependencies {
		byName[fmt.Sprint(each.chart.metadata["name"])] = each
	}
	listed, _ := c.metadata["dependencies"].([]any)
	kept, notes, left := []any{}, []string{}, []string{}
	for _, each := range listed {
		entry, _ := each.(map[string]any)
		name, _ := entry["name"].(string)
		if given, found := byName[name]; found {
			delete(byName, name)
			given.chart.metadata["version"] = entry["version"]
			if err := c.add(given.chart); err != nil {
				return err
			}
			kept = append(kept, entry)
			notes = append(notes, fmt.Sprintf("%s is that of the Go module %s %s", name, given.from.Path, given.from.Version))
		} else if c.files[path.Join(chartsPath, name, "values.yaml")] != nil {
			kept = append(kept, entry)
		} else {
			left = append(left, name)
		}
	}
	for name := range byName {
		return fmt.Errorf("the chart does not depend on %s", name)
	}
	c.metadata["dependencies"] = kept
	if len(left) > 0 {
		notes = append(notes, "left out, since off by default: "+strings.Join(left, ", "))
	}
	annotations, _ := c.metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		c.metadata["annotations"] = annotations
	}
	annotations[composedAnnotation] = strings.Join(notes, "; ")
	return nil
}

// dependency is a chart that another one depends on, and the module that it is taken from.
type dependency struct {
	chart *chart
	from  module
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
