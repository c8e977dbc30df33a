// Command pulumi-resource-github is the GitHub provider that Pulumi releases, as far as this project uses it:
// the same upstream provider behind the same bridge, with the resources of `resources` and no others.
//
// It has no schema of its own. The engine asks for one only to generate SDKs and the source of imported
// resources, and the generator of schemas would add the clients of three clouds to the program.
package main

import (
	"github.com/integrations/terraform-provider-github/v6/github"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shim "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
)

const name = "github"

// version is that of the Pulumi release whose place the plugin takes; the linker sets it.
var version string

// resources are what the project creates, by upstream's name, as the release's SDKs call them.
var resources = map[string]string{
	"github_repository_deploy_key": "RepositoryDeployKey",
	"github_repository_webhook":    "RepositoryWebhook",
}

func main() {
	tfbridge.Main(name, version, providerInfo(), nil)
}

// providerInfo says how upstream's names and settings become Pulumi's.
func providerInfo() tfbridge.ProviderInfo {
	upstream := shimv2.NewProvider(github.NewProvider(version, "")())
	info := tfbridge.ProviderInfo{
		P:       upstream,
		Name:    name,
		Version: version,
		Config: map[string]*tfbridge.SchemaInfo{
			// The release's default, which its SDKs use as well. Upstream does not call the token sensitive;
			// the key of a GitHub App and the configuration of a webhook it does.
			"token": {
				Secret:  tfbridge.True(),
				Default: &tfbridge.DefaultInfo{EnvVars: []string{"GITHUB_TOKEN"}},
			},
		},
		Resources: map[string]*tfbridge.ResourceInfo{},
	}
	for upstreamName, pulumiName := range resources {
		// As in github:index/repositoryWebhook:RepositoryWebhook.
		info.Resources[upstreamName] = &tfbridge.ResourceInfo{Tok: tfbridge.MakeResource(name, "index", pulumiName)}
	}
	info.IgnoreMappings = append(unused(upstream.ResourcesMap()), names(upstream.DataSourcesMap())...)
	return info
}

// unused names the resources that are not in `resources`.
func unused(all shim.ResourceMap) []string {
	var found []string
	for _, upstreamName := range names(all) {
		if resources[upstreamName] == "" {
			found = append(found, upstreamName)
		}
	}
	return found
}

func names(all shim.ResourceMap) []string {
	var found []string
	all.Range(func(name string, _ shim.Resource) bool {
		found = append(found, name)
		return true
	})
	return found
}
