// Command kyverno-chart composes the archive of Kyverno's Helm chart offline, from Go modules.
//
// Kyverno's release runs "helm package" on the folder charts/kyverno of its repository, after it has fetched the charts
// that this one depends on. The folder is in the Go module, and so is the chart kyverno-api, with the custom resource
// definitions of policies.kyverno.io, in the module that Kyverno takes its API from. Two charts are to be had from
// their own repositories alone: openreports and reports-server. Both are off by default, so they are left out of the
// archive and of its list of dependencies; the annotations of its Chart.yaml say so.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	chartModule = "github.com/kyverno/kyverno"
	apiModule   = "github.com/kyverno/api"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "kyverno-chart:", err)
		os.Exit(1)
	}
}

func run(arguments []string, messages io.Writer) error {
	flags := flag.NewFlagSet("kyverno-chart", flag.ContinueOnError)
	flags.SetOutput(messages)
	modulesFile := flags.String("modules", "", "file with what `go mod download -json` prints of the modules to read")
	output := flags.String("output", "", "file to write the archive to, <chart>-<version>.tgz")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *modulesFile == "" || *output == "" {
		return errors.New("--modules and --output are required")
	}
	modules, err := readModules(*modulesFile)
	if err != nil {
		return err
	}
	composed, err := compose(modules)
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

// module is what kyverno-chart needs of an entry that `go mod download -json` prints.
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
func compose(modules map[string]module) (*chart, error) {
	for _, path := range []string{chartModule, apiModule} {
		if _, found := modules[path]; !found {
			return nil, fmt.Errorf("the module %s is not among the modules", path)
		}
	}
	kyverno, err := readChart(filepath.Join(modules[chartModule].Dir, "charts", "kyverno"))
	if err != nil {
		return nil, err
	}
	api, err := readChart(filepath.Join(modules[apiModule].Dir, "charts", apiChart))
	if err != nil {
		return nil, err
	}
	return kyverno, kyverno.vendor(api, modules[apiModule])
}
