// Program offline-admission answers what an API server would answer to requests, without one: it decodes, defaults and
// validates objects with the code and the schemas of kube-apiserver, applies MutatingAdmissionPolicies, and asks
// ValidatingAdmissionPolicies and, for pods, Pod Security. On request it asks RBAC before, and LimitRanges and ResourceQuotas.
//
// It reads one JSON document (type input) from standard input and writes one (a list of type answer, one for each
// request, in their order) to standard output. It opens no connection and no file.
//
// No other admission plugin that changes objects runs but LimitRanger, nor do Kyverno's webhooks.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var given input
	if err := json.NewDecoder(in).Decode(&given); err != nil {
		return fmt.Errorf("the input is not JSON of the expected form: %w", err)
	}
	server, err := newServer(given)
	if err != nil {
		return err
	}
	answers := make([]answer, 0, len(given.Requests))
	for _, each := range given.Requests {
		answers = append(answers, server.ask(each))
	}
	return json.NewEncoder(out).Encode(answers)
}
