// Command helm-chart composes the archive of a Helm chart offline, from Go modules.
//
// A release runs "helm package" on a folder of its repository, after it has fetched the charts that this one depends
// on. The folder is in the Go module. So is a dependency of Kyverno's chart: kyverno-api, with the custom resource
// definitions of policies.kyverno.io, is in the module that Kyverno takes its API from. Other dependencies are to be had
// from their own repositories alone: openreports, reports-server, capsule-proxy. All are off by default, so they are
// left out of the archive and of its list of dependencies; the annotations of its Chart.yaml say so.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "helm-chart:", err)
		os.Exit(1)
	}
}

func run(arguments []string, messages io.Writer) error {
	flags := flag.NewFlagSet("helm-chart", flag.ContinueOnError)
	flags.SetOutput(messages)
	modulesFile := flags.String("modules", "", "file with what `go mod download -json` prints of the modules to read")
	output := flags.String("output", "", "file to write the archive to, <chart>-<version>.tgz")
	chartAt := flags.String("chart", "", "where the chart is, <module>:<folder>")
	released := flags.Bool("module-version", false, "give the chart and its app the version of the module")
	var vendored []string
	flags.Func("dependency", "where a chart is that it depends on, <module>:<folder>", func(at string) error {
		vendored = append(vendored, at)
		return nil
	})
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *modulesFile == "" || *output == "" || *chartAt == "" {
		return errors.New("--modules, --output and --chart are required")
	}
	modules, err := readModules(*modulesFile)
	if err != nil {
		return err
	}
	composed, err := compose(modules, *chartAt, *released, vendored)
	if err != nil {
		return err
	}
	if name := filepath.Base(*output); name != composed.archiveName() {
		return fmt.Errorf("the chart is %s, not %s: lab/tools.yaml must name it so", composed.archiveName(), name)
	}
	archive, err := composed.archive()
	if err != nil {
		return err
	}
	return os.WriteFile(*output, archive, 0o644)
}

// module is what helm-chart needs of an entry that `go mod download -json` prints.
type module struct {
	Path    string
	Version string
	Dir     string
}

// readModules reads the modules by their path.
func readModules(file string) (map[string]module, error) {
	stream, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer stream.Close()

	modules := map[string]module{}
	for decoder := json.NewDecoder(stream); ; {
		var m module
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return modules, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		modules[m.Path] = m
	}
}

// compose puts the chart together as "helm package" would find it, but for the dependencies that cannot be had.
func compose(modules map[string]module, at string, released bool, vendored []string) (*chart, error) {
	composed, err := find(modules, at)
	if err != nil {
		return nil, err
	}
	if released {
		composed.chart.release(composed.from.Version)
	}
	var dependencies []dependency
	for _, each := range vendored {
		found, err := find(modules, each)
		if err != nil {
			return nil, err
		}
		dependencies = append(dependencies, found)
	}
	return composed.chart, composed.chart.vendor(dependencies)
}

// find reads the chart at <module>:<folder>.
func find(modules map[string]module, at string) (dependency, error) {
	path, folder, _ := strings.Cut(at, ":")
	from, found := modules[path]
	if !found {
		return dependency{}, fmt.Errorf("the module %s is not among the modules", path)
	}
	read, err := readChart(filepath.Join(from.Dir, filepath.FromSlash(folder)))
	return dependency{read, from}, err
}
