package samplers

// Dispersion is how far weighted totals over a design's samples scatter, from public
// facts alone: what the sampling error of a mean is made of, before any value is
// known. Each is a variance of Σ over all records of (the record's weight where it
// was drawn, else 0, less 1)·e, divided by the squared number of records.
type Dispersion struct {
	// Size is for e = 1 at every record: how the weighted size of the sample varies.
	Size float64
	// Units is for e that is drawn once for each largest unit, with variance 1.
	Units float64
	// Records is for e that is drawn for each record, with variance 1.
	Records float64
}

// Mean is the variance of the error of the mean estimated by c + Σ w(y−c)/N, where
// the values y have the variance v, the correlation icc inside the largest units
// and the squared distance d2 of their mean from c.
func (d Dispersion) Mean(v, icc, d2 float64) float64 {
	return d2*d.Size + icc*v*d.Units + (1-icc)*v*d.Records
}

// Disperses is implemented by the designs whose frame says how many records each
// unit holds.
type Disperses interface {
	Design
	Frame() *Frame
	Weight(u int32) float64
	Dispersion() Dispersion
}

var (
	_ Disperses = (*Multistage)(nil)
	_ Disperses = (*StratifiedTake)(nil)
)

// Dispersion follows from the frame and the stages, exactly.
func (d *Multistage) Dispersion() Dispersion {
	n := float64(d.frame.records)
	below := func(c *node) float64 { return d.scatter(c, 1) }
	out := Dispersion{Size: d.scatter(d.root, 0) / (n * n), Records: records(d.frame, d.weights)}
	raise := float64(d.root.size()) / float64(d.taken(d.root, 0))
	for _, c := range d.root.children {
		size := float64(held(c))
		// E(A−N)² with A = raise·T where the unit is drawn, of probability 1/raise, else 0.
		out.Units += (raise*(below(c)+size*size) - size*size) / (n * n)
	}
	return out
}

// scatter is the variance of the weighted number of records below a unit that was
// drawn, the weights counted from there: that of a simple random sample's total of
// the units below, and what scatters inside those.
func (d *Multistage) scatter(n *node, j int) float64 {
	if n.children == nil {
		return 0 // a fixed number of records, each with the same weight
	}
	of, take := float64(n.size()), float64(d.taken(n, j))
	mean, squares, inside := float64(held(n))/of, 0.0, 0.0
	for _, c := range n.children {
		dev := float64(held(c)) - mean
		squares += dev * dev
		inside += d.scatter(c, j+1)
	}
	between := 0.0
	if of > 1 {
		between = of * (of - take) / take * squares / (of - 1)
	}
	return between + of/take*inside
}

// held is the number of records below a unit.
func held(n *node) int64 {
	if n.children == nil {
		return n.records
	}
	var sum int64
	for _, c := range n.children {
		sum += held(c)
	}
	return sum
}

// records is Σ(w − 1)/N²: the variance for independent values.
func records(f *Frame, weights []float64) float64 {
	sum, n := 0.0, float64(f.records)
	for u, w := range weights {
		sum += float64(f.units[u].Records) * (w - 1)
	}
	return sum / (n * n)
}

// Dispersion has no part but that of records: each stratum has its fixed number.
func (d *StratifiedTake) Dispersion() Dispersion {
	return Dispersion{Records: records(d.frame, d.weights)}
}
