package series

// A Term is one period of a published figure, counted from 0, with its whole factor.
type Term struct {
	Period int
	Factor int64
}

// A Row is one published figure: a whole linear combination of the figures of periods.
type Row struct {
	Kind   string  // such as month, quarter or running
	Period int     // the last period that it needs: the run that publishes it
	Terms  []Term  // in the order of their periods
	Weight float64 // how much its error matters beside the other rows', above 0
}
