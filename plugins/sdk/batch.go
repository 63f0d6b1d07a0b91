package sdk

import (
	"errors"
	"io"

	"github.com/dprelease/dprelease/internal/wire"
)

// Values holds some rows of one column: Float64 and Valid (nil: all valid) for a
// Number, Codes (-1 where missing) for a Category.
type Values struct {
	Float64 []float64
	Codes   []int32
	Valid   []byte
}

// NewBatch returns a batch of n rows for tests. It keeps the slices.
func NewBatch(n int, columns []Values, weights []float64) (*Batch, error) {
	b := &Batch{n: n, weights: weights}
	ok := n >= 0 && (weights == nil || len(weights) == n)
	for _, c := range columns {
		ok = ok && (c.Float64 == nil) != (c.Codes == nil) || n == 0
		ok = ok && len(c.Float64)+len(c.Codes) == n && (c.Valid == nil || len(c.Valid)*8 >= n)
		valid := c.Valid
		if c.Codes != nil {
			valid = nil
			for i, code := range c.Codes {
				if code < 0 && valid == nil {
					valid = make([]byte, (n+7)/8)
					for j := range i {
						valid[j>>3] |= 1 << (j & 7)
					}
				}
				if code >= 0 && valid != nil {
					valid[i>>3] |= 1 << (i & 7)
				}
			}
		}
		b.columns = append(b.columns, batchColumn{floats: c.Float64, codes: c.Codes, valid: valid})
	}
	if !ok {
		return nil, errors.New("batch: every column must hold its values in one slice of n rows")
	}
	return b, nil
}

// columnSpecs is how the plan's columns look on the row stream.
func columnSpecs(public Public, plan Plan) ([]wire.ColumnSpec, error) {
	var out []wire.ColumnSpec
	for _, name := range plan.Columns {
		c, ok := public.Column(name)
		if !ok {
			return nil, errors.New("plan names a column that is not declared")
		}
		s := wire.ColumnSpec{Name: name}
		if c.Type == Category {
			if s.Categories = len(c.Domain); s.Categories == 0 {
				return nil, errors.New("a category column has an empty domain")
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// streamRows is Rows over the row stream.
type streamRows struct {
	r     *wire.RowsReader
	batch Batch
}

func (s *streamRows) Next() (*Batch, error) {
	b, err := s.r.Next()
	if err != nil {
		return nil, err
	}
	s.batch.n, s.batch.weights = b.Rows, b.Weights
	s.batch.columns = s.batch.columns[:0]
	for _, c := range b.Columns {
		s.batch.columns = append(s.batch.columns, batchColumn{floats: c.Float64, codes: c.Codes, valid: c.Valid})
	}
	return &s.batch, nil
}

// drain reads what a mechanism left unread: a host that still writes must not be
// cut off, and how many rows a mechanism looked at must not show.
func (s *streamRows) drain() error {
	for {
		switch _, err := s.r.Next(); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}
