// Package cloud is what the rest of Pulumi's CLI needs of the package with this
// name, and is compiled in its place (see trims in lab/tools.yaml).
//
// It has `pulumi api`, which calls Pulumi Cloud by its OpenAPI document. Nothing
// else of the CLI does, and the libraries for that are a quarter of its time to
// compile.
package cloud

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// Codes of errors, of which the lab's Pulumi shows only the message.
const (
	ErrNotLoggedIn = ""
	ErrToolError   = ""
)

// APIError is an error of Pulumi Cloud's API.
type APIError struct {
	ExitCode int
	Silent   bool
	message  string
}

// NewAPIError returns an error that ends the CLI with this exit code.
func NewAPIError(exit int, _, message string) *APIError {
	return &APIError{ExitCode: exit, message: message}
}

func (e *APIError) Error() string { return e.message }

// WithSuggestions adds what the user can do to the message.
func (e *APIError) WithSuggestions(suggestions ...string) *APIError {
	e.message += "; " + strings.Join(suggestions, ", or ")
	return e
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
