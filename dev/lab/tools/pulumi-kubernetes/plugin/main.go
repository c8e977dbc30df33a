// Command pulumi-resource-kubernetes is the release's provider with its own schema.
//
// Upstream's main embeds files that its release process generates and its Go
// module lacks. The lab's builder puts the module's own schema.json and
// terraform-mapping.json beside this file (see lab/tools.yaml) before it compiles.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var terraformMapping []byte

// version is the release that the pinned module commit belongs to; the linker sets it.
var version string

func main() {
	provider.Serve("kubernetes", version, schema, terraformMapping)
}
