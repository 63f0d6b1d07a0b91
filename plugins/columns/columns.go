package columns

// Column is one column of a result. Its values stand in the one slice that its type names.
type Column struct {
	Name    string
	Float64 []float64
	Int64   []int64
	Texts   []string
	// Blank marks the values that are not shown; nil for none. Only the host sets it.
	Blank []bool

	_ struct{}
}

// Len is the number of its values.
func (c Column) Len() int { return max(len(c.Float64), len(c.Int64), len(c.Texts)) }

// Hidden reports whether value i is not shown.
func (c Column) Hidden(i int) bool { return i < len(c.Blank) && c.Blank[i] }

// Value is value i: a float64, an int64 or a string, and nil where it is not shown.
func (c Column) Value(i int) any {
	switch {
	case c.Hidden(i):
		return nil
	case c.Float64 != nil:
		return c.Float64[i]
	case c.Int64 != nil:
		return c.Int64[i]
	}
	return c.Texts[i]
}

// Hide marks value i as one that is not shown.
func (c *Column) Hide(i int) {
	c.Blank = append(c.Blank, make([]bool, max(0, i+1-len(c.Blank)))...)
	c.Blank[i] = true
}

// Append adds the values of a column of the same type.
func (c *Column) Append(more Column) {
	if n := c.Len(); c.Blank != nil || more.Blank != nil {
		c.Blank = append(c.Blank, make([]bool, n+more.Len()-len(c.Blank))...)
		copy(c.Blank[n:], more.Blank)
	}
	c.Float64, c.Int64, c.Texts = append(c.Float64, more.Float64...), append(c.Int64, more.Int64...), append(c.Texts, more.Texts...)
}

// Part is the column with its values from one up to another, which share its memory.
func (c Column) Part(from, to int) Column {
	c.Float64, c.Int64, c.Texts, c.Blank = part(c.Float64, from, to), part(c.Int64, from, to), part(c.Texts, from, to), part(c.Blank, from, to)
	return c
}

func part[T any](values []T, from, to int) []T {
	return values[min(from, len(values)):min(to, len(values))]
}

// Pick returns a copy of some values of the column.
func (c Column) Pick(rows []int) Column {
	out := Column{Name: c.Name}
	for _, i := range rows {
		out.Append(c.Part(i, i+1))
	}
	return out
}
