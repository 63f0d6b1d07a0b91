package samplers

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Kept is a draw that an earlier job made and kept, used again: it draws nothing.
//
// # Contract
//
// The rows selected are those that were drawn, of a table with as many rows. The
// event is that of the design which drew them. It is the same draw: what is
// released from it is composed with everything that was released from it before,
// and amplified once (P4); privacy.Reuse does that. The caller vouches that the
// table is the one that was drawn from. Proof: kept.proof.md.
type Kept struct {
	kind     string
	event    privacy.Sampling
	facts    Facts
	relation privacy.Relation
	public   []string
	rows     []byte // nil until the draw is opened
}

// NewKept describes a draw by the kind, the event and the facts of the design that
// made it, under a relation which that design supports. Before [Kept.Open] it can
// be planned with, but not begun.
func NewKept(kind string, event privacy.Sampling, facts Facts, rel privacy.Relation) (*Kept, error) {
	if kind == "" || event == nil {
		return nil, errors.New("samplers: a kept draw needs its design")
	}
	if _, err := privacy.SampleRelations(event, rel); err != nil {
		return nil, err
	}
	d := &Kept{kind: kind, event: event, facts: facts, relation: rel, public: facts.UnitColumns}
	d.facts.UnitColumns = nil // its units were drawn already
	return d, nil
}

// Open gives the rows of the draw, as [Recorder.Drawn] wrote them.
func (d *Kept) Open(drawn []byte) error {
	s := &replay{}
	if err := s.read(drawn); err != nil {
		return err
	}
	d.rows = drawn
	return nil
}

// Kind returns the kind of the design that made the draw.
func (d *Kept) Kind() string { return d.kind }

// Event returns the event of the design that made the draw.
func (d *Kept) Event(inner privacy.Event) privacy.Event { return d.event.With(inner) }

// Facts are those of the design that made the draw.
func (d *Kept) Facts() Facts { return d.facts }

// PublicColumns are the key columns of the frame that the draw was made from: a
// neighbour keeps them (P5).
func (d *Kept) PublicColumns() []string { return slices.Clone(d.public) }

// Supports is nil under the relation that the draw was made for.
func (d *Kept) Supports(rel privacy.Relation) error {
	return onlyUnder("kept "+d.kind, d.relation, rel, "the draw was made for that relation")
}

// variance returns the variance of the design that made the draw, where the event and
// the facts say all of it; a frame is not kept with a draw.
func (d *Kept) variance(v Values) (float64, error) {
	switch e := d.event.(type) {
	case privacy.WithoutReplacement:
		if d.kind == "srswor" && d.facts.Population > 0 {
			return Variance(&SRSWOR{size: e.Take, population: e.Of}, v)
		} else if d.kind == "srswor" {
			return Variance(&SRSWOR{size: e.Take, atLeast: e.Of}, v)
		}
	case privacy.Poisson:
		if d.kind == "poisson" && d.facts.Population == 0 {
			return 0, ErrSecretSize
		} else if d.kind == "poisson" {
			q := d.facts.Rate
			return q * (1 - q) * float64(d.facts.Population) * v.square(), nil
		}
	}
	return 0, errors.New("the frame of the design is not at hand: the report of the job that drew the sample says it")
}

func (d *Kept) begin(_ *noise.Source, rows int64) (Selector, error) {
	s := &replay{}
	if d.rows == nil {
		return nil, fail(Misuse)
	}
	if err := s.read(d.rows); err != nil {
		return nil, err
	}
	if rows >= 0 && rows != s.rows {
		return nil, fail(SizeMismatch)
	}
	return s, nil
}

// replay walks a draw that was written down.
type replay struct {
	walk
	runs    []byte
	weights []byte
	next    int64 // the first row of the current run
	left    int64 // its rows from there on; 0: none any more
	weight  float64
	same    int64
	w       []float64
}

// read takes a written draw apart, and checks all of it.
func (s *replay) read(b []byte) error {
	if len(b) == 0 || b[0] != drawnVersion {
		return fail(Misuse)
	}
	b = b[1:]
	rows, k := binary.Uvarint(b)
	if k <= 0 || rows >= math.MaxInt64 {
		return fail(Misuse)
	}
	b = b[k:]
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return fail(Misuse)
	}
	s.walk = walk{rows: int64(rows)}
	s.runs, s.weights = b[k:k+int(n)], b[k+int(n):]
	drawn := uint64(0)
	for runs, end := s.runs, uint64(0); len(runs) > 0; {
		gap, size, rest, ok := run(runs)
		if !ok || gap > rows-end || size > rows-end-gap {
			return fail(Misuse)
		}
		end += gap + size
		drawn += size
		runs = rest
	}
	weighted := uint64(0)
	for w := s.weights; len(w) > 0; {
		same, k := binary.Uvarint(w)
		if k <= 0 || same == 0 || same > drawn-weighted || len(w) < k+8 {
			return fail(Misuse)
		}
		weighted += same
		w = w[k+8:]
	}
	if weighted != 0 && weighted != drawn {
		return fail(Misuse)
	}
	s.advanceRun()
	return nil
}

// run reads one run: the rows before it and its own.
func run(b []byte) (gap, size uint64, rest []byte, ok bool) {
	gap, k := binary.Uvarint(b)
	if k <= 0 {
		return 0, 0, nil, false
	}
	size, m := binary.Uvarint(b[k:])
	return gap, size, b[k+max(m, 0):], m > 0 && size > 0
}

func (s *replay) advanceRun() {
	if len(s.runs) == 0 {
		s.left = 0
		return
	}
	gap, size, rest, _ := run(s.runs)
	s.next, s.left, s.runs = s.next+int64(gap), int64(size), rest
}

// Next selects what was drawn of the next n rows.
func (s *replay) Next(n int) (Selection, error) {
	first, err := s.advance(n)
	if err != nil {
		return Selection{}, err
	}
	for s.left > 0 && s.next < s.pos {
		take := min(s.left, s.pos-s.next)
		for i := range take {
			s.out = append(s.out, uint32(s.next-first+i))
		}
		s.next += take
		if s.left -= take; s.left == 0 {
			s.advanceRun()
		}
	}
	out := Selection{Rows: s.out}
	if len(s.weights) > 0 || s.same > 0 {
		out.Weights = s.weigh(len(s.out))
	}
	return out, nil
}

func (s *replay) weigh(n int) []float64 {
	s.w = s.w[:0]
	for len(s.w) < n {
		if s.same == 0 {
			same, k := binary.Uvarint(s.weights)
			s.same, s.weight = int64(same), math.Float64frombits(binary.LittleEndian.Uint64(s.weights[k:]))
			s.weights = s.weights[k+8:]
		}
		s.w = append(s.w, s.weight)
		s.same--
	}
	return s.w
}

// NextUnits ignores the units: who was drawn is known.
func (s *replay) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

// Done checks that the whole draw went by.
func (s *replay) Done() error { return s.finish() }
