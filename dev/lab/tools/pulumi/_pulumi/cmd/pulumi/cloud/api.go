// Package cloud is what the rest of Pulumi's CLI needs of the package with this
// name, and is compiled in its place (see trims in lab/tools.yaml).
//
// It has `pulumi api`, which calls Pulumi Cloud by its OpenAPI document. Nothing
// else of the CLI does, and the libraries for that are a quarter of its time to
// compile.
package cloud

import (
	"errors"

	"github.com/spf13/cobra"
)

// APIError is how `pulumi api` fails, so nothing returns one.
type APIError struct {
	ExitCode int
	Silent   bool
}

func (*APIError) Error() string {
	return errLeftOut.Error()
}

var errLeftOut = errors.New("the lab's Pulumi has no `pulumi api`: use an official release")

// NewAPICmd returns a command that fails.
func NewAPICmd() *cobra.Command {
	return &cobra.Command{
		Use:   "api",
		Short: "Left out of the lab's Pulumi",
		RunE:  func(*cobra.Command, []string) error { return errLeftOut },
	}
}
