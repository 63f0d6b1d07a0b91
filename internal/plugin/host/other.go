//go:build !linux

package host

import (
	"errors"

	"github.com/dprelease/dprelease/internal/plugin/wire"
)

func newColumnsLane(*Plugin, wire.Layout) (lane, error) {
	return nil, errors.New("plugins run on Linux only")
}
