package budget

import (
	"context"
	"errors"
	"testing"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// A panic while the fingerprint is taken beside the draws, after the debit, neither ends the process nor says its words.
func TestPanicBesideTheDraws(t *testing.T) { // P20
	stop := beside(t.Context(), func(context.Context) error { panic("a value of the table") }, func() error { return nil })
	err := stop(nil)
	if !errors.Is(err, guard.ErrPanic) {
		t.Fatal(err)
	}
	var known *failure.Failure
	if err := run.CodeOf(t.Context(), err); !errors.As(err, &known) || known.Code != "CRASHED" {
		t.Errorf("it ends as %v", err)
	}
	if err := beside(t.Context(), func(context.Context) error { panic("a value") }, nil)(context.Canceled); err != context.Canceled {
		t.Errorf("the draws failed first, and %v is said", err)
	}
}
