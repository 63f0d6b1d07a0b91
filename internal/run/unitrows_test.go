package run

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dprelease/dprelease/internal/data/unlinked"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// Every error of package units ends a run with a code of its own, and with a text that is fixed (P20).
func TestUnitErrorsHaveCodes(t *testing.T) {
	for err, code := range map[error]string{units.ErrNullKey: "DATA_UNIT", unlinked.ErrFull: "TEMP_FULL", unlinked.ErrUnusable: "TEMP_UNUSABLE", units.ErrLimit: "SOURCE_LIMIT"} {
		var f *failure.Failure
		if got := CodeOf(t.Context(), &sinkError{fmt.Errorf("row 7: %w", err)}); !errors.As(got, &f) || f.Code != code || f.Exit != failure.ExitSource {
			t.Errorf("%v ends as %v, not as %s", err, got, code)
		}
	}
	if other := errors.New("another"); unitFailure(other) != other || unitFailure(nil) != nil {
		t.Error("another error was changed")
	}
}
