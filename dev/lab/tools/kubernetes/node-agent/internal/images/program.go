package images

import (
	"bytes"
	"fmt"
	"text/template"
)

// Program is what runs for an image on this machine. Args, Overrides and the values of Env are Go templates
// over a [Target].
type Program struct {
	Binary string `json:"binary"`
	// Args come before the arguments of the manifest, which has the last word: they are what a host process
	// needs beyond it, such as an address of its own to listen on.
	Args []string `json:"args"`
	// Overrides come after the arguments of the manifest. They take back what no host process can do, such as
	// leader election, which controller-runtime refuses where the file system of a container is missing.
	Overrides []string          `json:"overrides"`
	Env       map[string]string `json:"env"`
}

// Target is the pod that a program runs for.
type Target struct {
	PodIP          string
	Namespace      string
	PodName        string
	ServiceAccount string
	// Kubeconfig is a file with the credentials of the service account, for programs that take it as an argument.
	Kubeconfig string
}

// For returns the program with its templates filled in for target.
func (p Program) For(target Target) (Program, error) {
	args, err := fillAll(p.Args, target)
	if err != nil {
		return Program{}, err
	}
	overrides, err := fillAll(p.Overrides, target)
	if err != nil {
		return Program{}, err
	}
	env := make(map[string]string, len(p.Env))
	for name, value := range p.Env {
		if env[name], err = fill(value, target); err != nil {
			return Program{}, fmt.Errorf("variable %s: %w", name, err)
		}
	}
	return Program{Binary: p.Binary, Args: args, Overrides: overrides, Env: env}, nil
}

func fillAll(args []string, target Target) ([]string, error) {
	filled := make([]string, len(args))
	for i, arg := range args {
		var err error
		if filled[i], err = fill(arg, target); err != nil {
			return nil, fmt.Errorf("argument %q: %w", arg, err)
		}
	}
	return filled, nil
}

func fill(text string, target Target) (string, error) {
	parsed, err := template.New("").Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, target); err != nil {
		return "", err
	}
	return out.String(), nil
}
