//go:build !unix

package serve

import (
	"errors"

	"github.com/dprelease/dprelease/internal/plugin/wire/guest"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// openRows fails: a host runs plugins on Linux only.
func openRows(string, []sdk.Column) (*guest.Reader, func(), error) {
	return nil, nil, errors.New("plugins run on Linux only")
}
