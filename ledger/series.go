package ledger

import "context"

// SeriesStep is a step of a series as the ledger knows it.
type SeriesStep struct {
	Release  *Release // the one with bytes, nil where there is none
	Debited  bool     // it was paid for, whether or not there are bytes
	Busy     bool     // a run is at work on it
	Standing Standing
}

// SeriesSteps reads the steps of a series, by their plans, and the facts that the debit of the first one recorded;
// setup is nil where none was debited.
func (l *Ledger) SeriesSteps(ctx context.Context, plans []string) (steps []SeriesStep, setup []byte, err error) {
	err = l.read(ctx, func(t *tx) error {
		steps = make([]SeriesStep, len(plans))
		if t.at, err = t.now(); err != nil {
			return err
		}
		for i, p := range plans {
			rs, err := t.releasesOf(p)
			if err != nil {
				return err
			}
			s := &steps[i]
			s.Debited, s.Standing = len(rs) > 0, standing(rs, SeriesContent, t.at)
			s.Release, s.Busy = s.Standing.Found, s.Standing.Busy
		}
		n, err := t.node(plans[0])
		if n != nil {
			setup = []byte(n.Facts)
		}
		return err
	})
	return steps, setup, err
}

// SeriesContent is the content under which the step of a series is sealed: there is one measurement of a step,
// whatever its slice holds later. The digest of the slice lies within the sealed bytes, and in no record.
const SeriesContent = "series"
