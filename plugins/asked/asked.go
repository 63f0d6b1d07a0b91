package asked

// Release holds the parameters of one of these releases.
type Release interface {
	// Mechanism returns the name of the mechanism that takes the parameters.
	Mechanism() string
}

// Bound asks for a bound to which the values of a column are clipped.
type Bound struct {
	Column string `json:"column"`
	// Times is the ratio of the ε that the search spends to that of a release that clips to the bound.
	Times float64 `json:"times"`
}

// Mechanism returns the name of the mechanism that finds bounds.
func (Bound) Mechanism() string { return "bounds" }

// UnitRows asks for the numbers of units by how many rows they have.
type UnitRows struct {
	AtMost int    `json:"at_most"` // units with more rows count as having so many
	Column string `json:"column"`
	Keep   []int  `json:"keep,omitempty"` // numbers of rows of a unit that count in some release, ascending
	// Choose says that a cap is chosen from the numbers: they are of units between two caps.
	Choose bool `json:"choose,omitempty"`
}

// The column of the result that says what a line is about, and the word of the lines that count the units of a bin.
const (
	About = "column"
	Units = "units"
)

// MostRows is the number of rows that a unit counts as under a cap that is chosen in private, whichever it is: each row counts
// MostRows/cap times.
const MostRows = 720

// Caps are the caps that may be chosen up to at most so many rows: the divisors of MostRows, ascending. No two in a row are
// further apart than a factor of 2.
func Caps(atMost int64) (all []int64) {
	for r := int64(1); r <= min(atMost, MostRows); r++ {
		if MostRows%r == 0 {
			all = append(all, r)
		}
	}
	return all
}

// Mechanism returns the name of the mechanism that counts the rows of units.
func (UnitRows) Mechanism() string { return "unit_rows" }

// Share asks for the share of the values of a number column that are at least From and below To.
type Share struct {
	Column string   `json:"column"`
	From   *float64 `json:"from,omitempty"`
	To     *float64 `json:"to,omitempty"`
}

// Mechanism returns the name of the mechanism that releases shares.
func (Share) Mechanism() string { return "proportion" }
