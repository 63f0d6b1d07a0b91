package table

import "github.com/zeebo/xxh3"

// Mark is the digest of one stretch of stored bytes, as another machine read it. It is as private as the bytes.
type Mark struct {
	Segment int
	Hi, Lo  uint64
}

// Fresh is a collection of the same columns that has seen nothing.
func (c *Content) Fresh() *Content {
	out := &Content{table: c.table, cols: c.cols, runs: c.runs, first: c.first, segments: make([]segment, len(c.segments))}
	for i := range c.segments {
		out.segments[i].extent = c.segments[i].extent
	}
	return out
}

// Marks are what the collection has seen.
func (c *Content) Marks() (out []Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.segments {
		if s.seen {
			out = append(out, Mark{i, s.sum.Hi, s.sum.Lo})
		}
	}
	return out
}

// Note takes note of what another machine saw. It fails where this one, or a third, saw something else: the file
// changed, or is not the same.
func (c *Content) Note(marks []Mark) error {
	for _, m := range marks {
		if m.Segment < 0 || m.Segment >= len(c.segments) {
			return fail(CodeChanged, "", "another machine reads another file")
		}
		if err := c.note(m.Segment, xxh3.Uint128{Hi: m.Hi, Lo: m.Lo}); err != nil {
			return err
		}
	}
	return nil
}
