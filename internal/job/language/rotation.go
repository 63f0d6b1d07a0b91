package language

import (
	"errors"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// drawnPanel checks a panel whose waves the program draws from the table (P34).
func (k *checker) drawnPanel(path string, s *job.Sample) {
	alone := len(k.j.Samples) == 1
	for _, r := range k.j.Releases {
		alone = alone && (r.From == s.Name || r.From == "")
	}
	if !alone {
		k.wrong(path, "put other releases into a job of their own, on the same account",
			"must be the only sample of its job, and all releases must be from it: they are the same in each wave, and the first wave pays for all")
	}
	k.waves(path, s)
}

// waves checks the waves of a panel.
func (k *checker) waves(path string, s *job.Sample) {
	p, _ := k.j.Rotates()
	r := p.Rotation
	if s.Waves == 0 {
		return
	}
	r.Event = privacy.Pure{Eps: 1}
	if err := privacy.Validate(r); err != nil {
		var wrong *privacy.Error
		if errors.As(err, &wrong) {
			field, _, _ := strings.Cut(strings.TrimPrefix(wrong.Path, "rotation."), "[")
			k.wrong(job.Key(path, field), "", "%s", wrong.Message)
		}
		return
	}
	switch {
	case s.Wave > s.Waves:
		k.wrong(job.Key(path, "wave"), "", "must be at most waves (%d > %d)", s.Wave, s.Waves)
	case s.Wave > 0 && r.Chance(s.Wave).Sign() == 0:
		k.wrong(job.Key(path, "wave"), "list a pattern with this wave", "is in no pattern: nobody is asked in it")
	}
	k.unevenWaves(path, r)
}

// unevenWaves refuses intervals where a wave has every unit and another has not: only in the
// other is the draw a part of the error, so the waves would not release the same.
func (k *checker) unevenWaves(path string, r privacy.Rotation) {
	all, some := int64(0), false
	for w := int64(1); w <= r.Waves && len(r.Patterns) > 0; w++ {
		switch c := r.Chance(w); {
		case c.IsInt() && c.Sign() > 0:
			all = w
		case c.Sign() > 0:
			some = true
		}
	}
	if all > 0 && some && slices.ContainsFunc(k.j.Releases, func(r job.Release) bool { return r.Interval != nil }) {
		k.wrong(job.Key(path, "patterns"), "leave the intervals out", "cannot have every unit in wave %d and only some in another: "+
			"intervals would need other releases in each, and every wave must release the same", all)
	}
}
