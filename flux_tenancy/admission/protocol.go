package main

import "encoding/json"

// input is what the program reads.
type input struct {
	// Definitions are the CustomResourceDefinitions of the cluster.
	Definitions []json.RawMessage `json:"definitions"`
	// Policies are ValidatingAdmissionPolicies and their bindings; without parameters.
	Policies []json.RawMessage `json:"policies"`
	// Namespaces of the cluster; a request for another one finds it without labels and annotations.
	Namespaces []json.RawMessage `json:"namespaces"`
	// Access are roles and bindings of rbac.authorization.k8s.io/v1, which answer what a policy asks the authorizer.
	Access   []json.RawMessage `json:"access"`
	Requests []request         `json:"requests"`
}

// request is one request to the API server.
type request struct {
	// Operation is CREATE, UPDATE or DELETE.
	Operation string `json:"operation"`
	// Object is the object as the request leaves it; none for DELETE.
	Object json.RawMessage `json:"object"`
	// Old is what is there before; none for CREATE, unless of a subresource.
	Old         json.RawMessage `json:"old"`
	Subresource string          `json:"subresource"`
	User        string          `json:"user"`
	// Groups of the user, without those that every service account has. Members of system:masters may do everything.
	Groups []string `json:"groups"`
}

// answer says what is wrong with a request; it is accepted if both lists are empty.
type answer struct {
	// Errors are those of decoding and validation, unknown fields included. An object that cannot be decoded or is
	// invalid is not shown to policies.
	Errors []fieldError `json:"errors"`
	// Refusals are the failed validations of all policies that match, and what violates Pod Security.
	Refusals []refusal `json:"refusals"`
}

type fieldError struct {
	// Path of the field, e.g. spec.interval; empty where the whole object is meant.
	Path    string `json:"path"`
	Message string `json:"message"`
}

type refusal struct {
	// Policy is the name of a ValidatingAdmissionPolicy, or PodSecurity.
	Policy string `json:"policy"`
	// Denied is whether the request is refused; otherwise the policy only warns.
	Denied  bool   `json:"denied"`
	Message string `json:"message"`
}
