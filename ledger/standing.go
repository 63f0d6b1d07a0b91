package ledger

import (
	"context"
	"slices"
	"time"
)

// Standing is the ledger's knowledge of a plan, or its answer to a request. At most one
// of Ticket, Found and Busy is set.
type Standing struct {
	Ticket     *Ticket  // the debit is durable: go on
	Found      *Release // released already from the same data: publish its bytes
	Busy       bool     // another run of the same plan is at work: wait for it
	Compare    bool     // there are releases of this plan: say what the data are
	Unfinished bool     // a run of this plan was cut off after its debit, or failed in a way that another try may not
	Failed     *Failure // a run of this plan failed: on this content, where the failure names one, or as the last unfinished run
	Moved      bool     // another job used a node since the plan was made: plan again
}

// Look returns how things stand for a plan, without changing anything.
func (l *Ledger) Look(ctx context.Context, plan, content string) (Standing, error) {
	return reading(ctx, l, func(t *tx) (s Standing, err error) {
		if t.at, err = t.now(); err != nil {
			return s, err
		}
		rs, err := t.releasesOf(plan)
		if err != nil {
			return s, err
		}
		return standing(rs, content, t.at), nil
	})
}

func standing(rs []*Release, content string, now time.Time) (s Standing) {
	for _, r := range slices.Backward(rs) { // the newest first
		bound := r.Failure != nil && r.Failure.Content != ""
		switch {
		case r.released() && content != "" && r.Content == content:
			return Standing{Found: r}
		case r.released() && content == "":
			s.Compare = true
		case r.State == Debited && r.alive(now):
			s.Busy = true
		case bound && content == "":
			s.Compare = true
		case bound && r.Failure.Content == content:
			s.Failed = r.Failure
		case r.State == Debited && !bound:
			s.Unfinished = true
			if s.Failed == nil {
				s.Failed = r.Failure
			}
		}
	}
	return s
}

// Hopeless reports whether a run of the same plan failed on the same content, as any
// other will.
func (s *Standing) Hopeless() bool { return s.Failed != nil && s.Failed.Content != "" }

// Refusal returns the error for an earlier run that did not get to its seal.
func (s *Standing) Refusal() *Error {
	if s.Failed != nil {
		return refuse(CodeUnfinished,
			"an earlier run of this job failed after its debit (%s), which stays spent; run with --spend-again to spend again", s.Failed.Code)
	}
	return refuse(CodeUnfinished,
		"an earlier run of this job was cut off after its debit, which stays spent; run with --spend-again to spend again")
}
