package main

import "encoding/json"

// input is what the program reads.
type input struct {
	// Definitions are the CustomResourceDefinitions of the cluster.
	Definitions []json.RawMessage `json:"definitions"`
	// Policies are ValidatingAdmissionPolicies, MutatingAdmissionPolicies with JSON patches, and their bindings; without
	// parameters.
	Policies []json.RawMessage `json:"policies"`
	// Namespaces of the cluster; a request for another one finds it without labels and annotations.
	Namespaces []json.RawMessage `json:"namespaces"`
	// Access are roles and bindings of rbac.authorization.k8s.io/v1, which answer what a policy asks the authorizer.
	Access []json.RawMessage `json:"access"`
	// Quotas are ResourceQuotas; status.used is what is used before the first request, and every accepted one counts.
	Quotas []json.RawMessage `json:"quotas"`
	// Limits are LimitRanges.
	Limits   []json.RawMessage `json:"limits"`
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
	// Verbs are what the user must be allowed to do with such an object; none, and RBAC is not asked. With verbs, a new role
	// or binding may give away no more rights than the user has.
	Verbs []string `json:"verbs"`
	// Namespace is that of a namespaced object that names none.
	Namespace string `json:"namespace"`
	// Count is how many such objects quotas count; 0 is one.
	Count int `json:"count"`
}

// answer says what is wrong with a request; it is accepted if both lists are empty.
type answer struct {
	// Errors are those of decoding and validation, unknown fields included. An object that cannot be decoded or is
	// invalid is not shown to policies.
	Errors []fieldError `json:"errors"`
	// Refusals are the failed validations of all policies that match, and what RBAC, Pod Security, a LimitRange or a quota
	// refuses. Where RBAC refuses, nothing else is asked; quotas are asked last.
	Refusals []refusal `json:"refusals"`
}

type fieldError struct {
	// Path of the field, e.g. spec.interval; empty where the whole object is meant.
	Path    string `json:"path"`
	Message string `json:"message"`
}

type refusal struct {
	// Policy is the name of a ValidatingAdmissionPolicy, or RBAC, PodSecurity, LimitRanger or ResourceQuota.
	Policy string `json:"policy"`
	// Denied is whether the request is refused; otherwise the policy only warns.
	Denied  bool   `json:"denied"`
	Message string `json:"message"`
}
