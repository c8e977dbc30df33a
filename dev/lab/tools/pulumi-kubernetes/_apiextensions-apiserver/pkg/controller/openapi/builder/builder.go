// The lab's own package, compiled in place of the one with its name in
// k8s.io/apiextensions-apiserver (see trims in lab/tools.yaml).
//
// The Kubernetes plugin calls it only to make an SDK of custom resource
// definitions, for `pulumi package add kubernetes`. The original brings 300
// packages of the API server with it, a ninth of the plugin's time to compile.

package builder

import (
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

var errLeftOut = errors.New("the lab's Kubernetes plugin makes no SDK of custom resource definitions: " +
	"use Pulumi's own plugin")

// Options says how a definition is converted.
type Options struct {
	V2, StripValueValidation, StripNullable, AllowNonStructural bool
}

// BuildOpenAPIV2 fails.
func BuildOpenAPIV2(*apiextensionsv1.CustomResourceDefinition, string, Options) (*spec.Swagger, error) {
	return nil, errLeftOut
}

// MergeSpecs fails.
func MergeSpecs(*spec.Swagger, ...*spec.Swagger) (*spec.Swagger, error) {
	return nil, errLeftOut
}
