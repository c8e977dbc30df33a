// The lab's own file, compiled in place of the one with its name in Pulumi's
// Kubernetes SDK (see trims in lab/tools.yaml).
//
// The SDK's file makes a Go value of a different type for each kind of object,
// and so pulls 62 large packages into every program that imports this one. The
// Kubernetes plugin registers the objects of a ConfigGroup, ConfigFile or Chart
// with it. It looks at nothing of the value but the URN and the ID that the
// engine gives each resource, and those are the same whatever the type.
//
// IsListKind, which the SDK's file has too, is left out: nothing in the plugin
// calls it, and if something did, the plugin would not compile.

package v2

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RegisterResource registers one Kubernetes object with the engine, under the
// type token that the SDK gives its kind.
func RegisterResource(ctx *pulumi.Context, apiVersion, kind, name string, props pulumi.Input,
	opts ...pulumi.ResourceOption) (pulumi.CustomResource, error) {
	if !strings.Contains(apiVersion, "/") {
		// Pulumi's name for the group that has none.
		apiVersion = "core/" + apiVersion
	}
	var resource pulumi.CustomResourceState
	if err := ctx.RegisterResource("kubernetes:"+apiVersion+":"+kind, name, props, &resource, opts...); err != nil {
		return nil, err
	}
	return &resource, nil
}
