package samplers

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Unit is one ultimate unit of a frame: the units that it lies in, from the top,
// itself last; and its public number of records.
type Unit struct {
	Key     []string
	Records int64
}

// Frame is the public list of the ultimate units of a table, and of how they lie
// inside larger units (P5). It is part of the job, not of the data: it may be
// printed, and must not be made from the table at run time.
type Frame struct {
	columns []string
	units   []Unit
	index   map[string]int32
	order   []int32 // the units in the order of their keys
	records int64
}

// NewFrame checks and keeps a list of ultimate units. columns are the key columns
// from the largest unit to the ultimate one.
func NewFrame(columns []string, units []Unit) (*Frame, error) {
	if len(columns) == 0 || len(units) == 0 {
		return nil, fmt.Errorf("frame: needs at least one key column and one unit")
	}
	if len(units) > math.MaxInt32 {
		return nil, fmt.Errorf("frame: has more than 2^31 - 1 units")
	}
	for i, c := range columns {
		if c == "" || slices.Contains(columns[:i], c) {
			return nil, fmt.Errorf("frame: key column %d (%q) is empty or named twice", i+1, c)
		}
	}
	f := &Frame{columns: slices.Clone(columns), units: make([]Unit, len(units)), index: make(map[string]int32, len(units))}
	for i, u := range units {
		if len(u.Key) != len(columns) {
			return nil, fmt.Errorf("frame: unit %d has %d key values for %d key columns", i+1, len(u.Key), len(columns))
		}
		if u.Records < 0 || u.Records > math.MaxInt64-f.records {
			return nil, fmt.Errorf("frame: unit %d: the number of records is negative or too large", i+1)
		}
		key := join(u.Key)
		if _, twice := f.index[key]; twice {
			return nil, fmt.Errorf("frame: unit %d is listed twice", i+1)
		}
		f.index[key] = int32(i)
		f.records += u.Records
		f.units[i] = Unit{Key: slices.Clone(u.Key), Records: u.Records}
		f.order = append(f.order, int32(i))
	}
	slices.SortFunc(f.order, func(a, b int32) int { return slices.Compare(f.units[a].Key, f.units[b].Key) })
	return f, nil
}

// MaxFrame bounds the file of a frame, in bytes.
const MaxFrame = 256 << 20

// ReadFrame reads a frame from a CSV file with a header: the key columns and the
// column with the number of records; others are ignored. An error names a line or
// the number of a unit and nothing that stands in the file: it may be the wrong one,
// and private.
func ReadFrame(r io.Reader, columns []string, records string) (*Frame, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("frame: the file is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("frame: %w", err)
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	at := make([]int, 0, len(columns)+1)
	for _, c := range append(slices.Clone(columns), records) {
		i := slices.Index(head, c)
		if i < 0 || slices.Contains(head[i+1:], c) {
			return nil, fmt.Errorf("frame: column %q is missing from the header, or stands there twice", c)
		}
		at = append(at, i)
	}
	var units []Unit
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return NewFrame(columns, units)
		}
		if err != nil {
			return nil, fmt.Errorf("frame: %w", err)
		}
		u := Unit{}
		for _, i := range at[:len(columns)] {
			u.Key = append(u.Key, row[i])
		}
		text := row[at[len(columns)]]
		if u.Records, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64); err != nil {
			line, _ := in.FieldPos(at[len(columns)])
			return nil, fmt.Errorf("frame: line %d: %s: is not a whole number of records", line, records)
		}
		units = append(units, u)
	}
}

// UnitOf returns the number of the unit with this key, or −1. It is safe for
// concurrent use.
func (f *Frame) UnitOf(key ...string) int32 {
	if u, ok := f.index[join(key)]; ok {
		return u
	}
	return -1
}

// Columns returns the key columns, from the largest unit to the ultimate one.
func (f *Frame) Columns() []string { return slices.Clone(f.columns) }

// Len is the number of ultimate units, which UnitOf numbers from 0.
func (f *Frame) Len() int { return len(f.units) }

// Unit returns ultimate unit u.
func (f *Frame) Unit(u int32) Unit {
	return Unit{Key: slices.Clone(f.units[u].Key), Records: f.units[u].Records}
}

// Records is the public number of records in all units.
func (f *Frame) Records() int64 { return f.records }

// overFrame is the common part of designs over a frame.
type overFrame struct {
	frame   *Frame
	weights []float64 // by ultimate unit
	facts   Facts
}

// settle fills in the facts that follow from the frame and the weights.
func (d *overFrame) settle() {
	f := &d.facts
	f.UnitColumns = d.frame.Columns()
	f.MinWeight, f.MaxWeight = slices.Min(d.weights), slices.Max(d.weights)
	if f.MinWeight == f.MaxWeight {
		f.EqualWeights, f.Rate = true, 1/f.MaxWeight
	}
}

// Facts are public: all follow from the frame, and from the rates or the numbers to take.
func (d *overFrame) Facts() Facts {
	f := d.facts
	f.UnitColumns = slices.Clone(f.UnitColumns)
	return f
}

// Frame returns the design's frame.
func (d *overFrame) Frame() *Frame { return d.frame }

// Weight returns the design weight 1/π of the records of ultimate unit u, or stratum u.
func (d *overFrame) Weight(u int32) float64 { return d.weights[u] }

// uneven are the weights of the units, nil where all are equal.
func (d *overFrame) uneven() []float64 {
	if d.facts.EqualWeights {
		return nil
	}
	return d.weights
}

// join makes a key of a tuple, different for different tuples.
func join(key []string) string {
	var b strings.Builder
	for _, k := range key {
		b.WriteString(strconv.Itoa(len(k)))
		b.WriteByte(':')
		b.WriteString(k)
	}
	return b.String()
}

// name is the name of a unit in an error about the frame, which is public.
func name(key []string) string {
	if len(key) == 0 {
		return "the frame"
	}
	return strconv.Quote(strings.Join(key, "/"))
}

// node is one unit of a frame: its children, or, for an ultimate unit, its
// records.
type node struct {
	key      []string
	children []*node
	unit     int32 // the ultimate unit, where there are no children
	records  int64
}

// size is the number of units of the stage below, or of records, that the unit holds.
func (n *node) size() int64 {
	if n.children == nil {
		return n.records
	}
	return int64(len(n.children))
}

// tree arranges the ultimate units of a frame under the units that they lie in.
func (f *Frame) tree() *node { return f.subtree(f.order, 0) }

// subtree is the unit that holds the given ultimate units, whose keys agree in
// their first depth values and are in order.
func (f *Frame) subtree(units []int32, depth int) *node {
	first := &f.units[units[0]]
	n := &node{key: first.Key[:depth], unit: -1}
	if depth == len(f.columns) {
		n.unit, n.records = units[0], first.Records
		return n
	}
	for len(units) > 0 {
		end := 1
		for end < len(units) && f.units[units[end]].Key[depth] == f.units[units[0]].Key[depth] {
			end++
		}
		n.children = append(n.children, f.subtree(units[:end], depth+1))
		units = units[end:]
	}
	return n
}
