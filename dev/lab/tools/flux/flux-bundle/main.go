// Command flux-bundle composes the install manifest of a Flux release offline, from Go modules.
//
// Flux's release runs "kustomize build manifests/install" in the flux2 repository. The bases there name two files of
// each controller's release by URL, <controller>.crds.yaml and <controller>.deployment.yaml, which the controller's
// release makes with "kustomize build" of its config/crd and config/manager. All of these folders are in the Go
// modules, so this program does the same builds in memory and answers the URLs from the controllers' modules.
//
// Where a pinned module is not of the version that the release names, the bundle has what the module has (image tag
// included), and says so in comments at its head. Only controllers named by --substitute may differ.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "flux-bundle:", err)
		os.Exit(1)
	}
}

func run(arguments []string, messages io.Writer) error {
	flags := flag.NewFlagSet("flux-bundle", flag.ContinueOnError)
	flags.SetOutput(messages)
	modulesFile := flags.String("modules", "", "file with what `go mod download -json` prints of the modules to read")
	output := flags.String("output", "", "file to write the bundle to")
	stands := flags.String("release", "", "the release that the bundle stands for, if its flux2 module is not available")
	substitutes := flags.String("substitute", "", "controllers, separated by commas, of which the release names other versions")
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
	allowed := strings.FieldsFunc(*substitutes, func(r rune) bool { return r == ',' })
	bundle, err := compose(modules, *stands, allowed)
	if err != nil {
		return err
	}
	return os.WriteFile(*output, bundle, 0o644)
}

// module is what flux-bundle needs of an entry that `go mod download -json` prints.
type module struct {
	Path    string
	Version string
	Dir     string
}

// readModules reads the modules by the last element of their path, major version suffixes left out, e.g. "flux2".
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
		modules[repositoryName(m.Path)] = m
	}
}

// repositoryName is the third element of a module path on a code host: github.com/fluxcd/flux2/v2 is "flux2".
func repositoryName(path string) string {
	elements := strings.Split(path, "/")
	return elements[min(2, len(elements)-1)]
}

// compose builds the release's install manifest out of the flux2 module and the controllers' modules. The bundle stands
// for another release, if one is named.
func compose(modules map[string]module, stands string, allowed []string) ([]byte, error) {
	release, found := modules["flux2"]
	if !found {
		return nil, errors.New("the flux2 module is not among the modules")
	}
	tree, err := loadManifests(release.Dir)
	if err != nil {
		return nil, err
	}
	artifacts, err := answerReleaseURLs(tree, modules)
	if err != nil {
		return nil, err
	}
	differences, err := substituted(artifacts, modules, allowed)
	if err != nil {
		return nil, err
	}
	manifest, err := build(tree, "/install")
	if err != nil {
		return nil, err
	}
	return append(header(release, stands, differences), manifest...), nil
}

// substitution is a controller of which the bundle has another version than the release.
type substitution struct {
	controller string
	released   string
	composed   string
}

// substituted lists the controllers whose module differs from the release, sorted by name.
//
// It is an error when one of them is not allowed to, or when one is allowed without need: a pin that was forgotten in
// an update, or a note that has become untrue.
func substituted(artifacts map[string]string, modules map[string]module, allowed []string) ([]substitution, error) {
	var differences []substitution
	for controller, released := range artifacts {
		composed := modules[controller].Version
		if differs := composed != released; differs != slices.Contains(allowed, controller) {
			return nil, fmt.Errorf(
				"the release has %s %s and go.mod pins %s: --substitute must name exactly the controllers that differ",
				controller, released, composed)
		} else if differs {
			differences = append(differences, substitution{controller, released, composed})
		}
	}
	for _, controller := range allowed {
		if _, found := artifacts[controller]; !found {
			return nil, fmt.Errorf("--substitute names %s, which the release does not have", controller)
		}
	}
	slices.SortFunc(differences, func(a, b substitution) int { return strings.Compare(a.controller, b.controller) })
	return differences, nil
}

// header says in YAML comments what differs from the release; it is empty when nothing does, so that the bundle is
// then the same as the release's own file.
func header(release module, stands string, differences []substitution) []byte {
	var text strings.Builder
	if stands != "" {
		fmt.Fprintf(&text, "# Composed for Flux %s from the manifests of Flux %s: its own are not available.\n",
			stands, release.Version)
	}
	for _, d := range differences {
		fmt.Fprintf(&text, "# Substituted: Flux %s has %s %s, this bundle %s.\n",
			release.Version, d.controller, d.released, d.composed)
	}
	return []byte(text.String())
}
