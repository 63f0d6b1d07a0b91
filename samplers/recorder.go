package samplers

import (
	"encoding/binary"
	"math"
)

// Recorder writes down a draw as it is made, so that it can be used again. It is
// told every block of the table, in order.
type Recorder struct {
	pos            int64 // rows of the table so far
	end            int64 // behind the last row that was drawn
	run            int64 // rows of the run that ends there
	gap            int64 // rows before that run
	runs           []byte
	weights        []byte
	weight         float64
	same           int64 // rows of that weight
	weighted, bare bool
}

// Add records what was selected of the next n rows.
func (r *Recorder) Add(n int, s Selection) error {
	if n < 0 || r.pos > math.MaxInt64-1-int64(n) {
		return fail(Misuse)
	}
	if s.All {
		if n > 0 {
			r.take(r.pos, int64(n))
		}
	}
	for i, row := range s.Rows {
		if s.All || int64(row) >= int64(n) || i > 0 && row <= s.Rows[i-1] {
			return fail(Misuse)
		}
		r.take(r.pos+int64(row), 1)
	}
	switch {
	case len(s.Weights) > 0:
		if s.All || len(s.Weights) != len(s.Rows) {
			return fail(Misuse)
		}
		r.weighted = true
		for _, w := range s.Weights {
			r.weigh(w)
		}
	case len(s.Rows) > 0 || s.All && n > 0:
		r.bare = true
	}
	r.pos += int64(n)
	return nil
}

func (r *Recorder) take(row, n int64) {
	if r.run > 0 && row == r.end {
		r.run += n
	} else {
		r.flush()
		r.gap, r.run = row-r.end, n
	}
	r.end = row + n
}

func (r *Recorder) flush() {
	if r.run > 0 {
		r.runs = binary.AppendUvarint(binary.AppendUvarint(r.runs, uint64(r.gap)), uint64(r.run))
	}
}

func (r *Recorder) weigh(w float64) {
	if r.same > 0 && w != r.weight {
		r.flushWeight()
	}
	r.weight = w
	r.same++
}

func (r *Recorder) flushWeight() {
	r.weights = binary.LittleEndian.AppendUint64(binary.AppendUvarint(r.weights, uint64(r.same)), math.Float64bits(r.weight))
	r.same = 0
}

// drawnVersion begins the written form of a draw.
const drawnVersion = 1

// Drawn is the written form of the draw: which rows, of how many, and their design
// weights where they are unequal. It is as private as the draw (P19).
func (r *Recorder) Drawn() ([]byte, error) {
	if r.weighted && r.bare {
		return nil, fail(Misuse)
	}
	r.flush()
	r.run = 0
	if r.same > 0 {
		r.flushWeight()
	}
	b := binary.AppendUvarint([]byte{drawnVersion}, uint64(r.pos))
	b = append(binary.AppendUvarint(b, uint64(len(r.runs))), r.runs...)
	return append(b, r.weights...), nil
}
