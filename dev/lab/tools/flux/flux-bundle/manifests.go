package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// releaseArtifact matches the URL of a file that a controller's release publishes: controller, version, kind of file.
var releaseArtifact = regexp.MustCompile(
	`https://github\.com/fluxcd/([a-z0-9-]+)/releases/download/(v[^/\s]+)/[a-z0-9-]+\.(crds|deployment)\.yaml`)

// artifactFolders are the folders of a controller's module that its release builds the published files from.
var artifactFolders = map[string]string{
	"crds":       "config/crd",
	"deployment": "config/manager",
}

// loadManifests copies the manifests folder of the flux2 module to the root of a filesystem in memory.
func loadManifests(release string) (filesys.FileSystem, error) {
	tree := filesys.MakeFsInMemory()
	root := os.DirFS(filepath.Join(release, "manifests"))
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return tree.WriteFile("/"+name, content)
	})
	if err != nil {
		return nil, fmt.Errorf("reading flux2's manifests: %w", err)
	}
	return tree, nil
}

// answerReleaseURLs replaces the URLs in the bases by files of the same content, built from the controllers' modules
// and put beside them. It returns the version that the release names for each controller.
func answerReleaseURLs(tree filesys.FileSystem, modules map[string]module) (map[string]string, error) {
	bases, err := tree.Glob("/bases/*/kustomization.yaml")
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, base := range bases {
		content, err := tree.ReadFile(base)
		if err != nil {
			return nil, err
		}
		for _, match := range releaseArtifact.FindAllSubmatch(content, -1) {
			controller, kind := string(match[1]), string(match[3])
			versions[controller] = string(match[2])
			artifact, err := buildArtifact(modules, controller, kind)
			if err != nil {
				return nil, err
			}
			if err := tree.WriteFile(path.Join(path.Dir(base), kind+".yaml"), artifact); err != nil {
				return nil, err
			}
		}
		if err := tree.WriteFile(base, releaseArtifact.ReplaceAll(content, []byte("$3.yaml"))); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// buildArtifact makes the file that the controller's release publishes, from its module.
func buildArtifact(modules map[string]module, controller, kind string) ([]byte, error) {
	source, found := modules[controller]
	if !found {
		return nil, fmt.Errorf("the release has %s, which is not among the modules", controller)
	}
	return build(filesys.MakeFsOnDisk(), filepath.Join(source.Dir, artifactFolders[kind]))
}

// build is what the command "kustomize build" does without options: the order of resources is left to kustomize.
func build(tree filesys.FileSystem, folder string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(tree, folder)
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", folder, err)
	}
	return resources.AsYaml()
}
