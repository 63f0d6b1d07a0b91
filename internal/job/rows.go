package job

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/plugins/asked"
)

// FoldBy is the function that makes one value of the rows of a unit. The zero value is invalid.
type FoldBy string

// The ways to fold. Any, All and Mode are for categories, Sum and Mean for numbers.
const (
	FoldSum   FoldBy = "sum"
	FoldMean  FoldBy = "mean"
	FoldMin   FoldBy = "min"
	FoldMax   FoldBy = "max"
	FoldCount FoldBy = "count"
	FoldAny   FoldBy = "any"
	FoldAll   FoldBy = "all"
	FoldMode  FoldBy = "mode"
)

// Cap bounds what one unit adds to a release: rows in at most Groups of its groups, and
// at most Rows in each (P22).
type Cap struct {
	Groups int64
	CapRows
	Measure *Measure // of what it leaves out, nil for none
	Binds   Binds
}

// Binds is the effect of a limit on the values that it limits. The zero value says that it may change them, so that no interval of
// a value without it follows (P41).
type Binds string

// A limit that is promised to change nothing, that is part of what is published, or, of a column, that changes only values above
// the upper bound.
const (
	BindsNever      Binds = "never"
	BindsDefinition Binds = "definition"
	BindsUpper      Binds = "upper"
)

// CapRows are the rows of a unit that count in a group.
type CapRows struct {
	// Rows are those that the run found where they are chosen in private, and before that those that the job assumes to be
	// chosen, or the most that may be.
	Rows   int64
	Choice *Choice // of Rows in private, nil where the job says them
}

// Found is the cap with the rows that were found.
func (c Cap) Found(rows int64) *Cap {
	c.Rows = rows
	return &c
}

// CapOf returns the cap of a release, nil where its rows are not capped: that of the table, as far as the release does not say
// its own, in no more groups than a unit can be in.
// The host keeps a unit to it whatever the rows are: that a unit can be in no more groups says only that nothing is lost. // P22
func (d *Dataset) CapOf(r *Release) *Cap {
	if d.Cap == nil || r.CountsUnits() {
		return nil
	}
	c := *d.Cap
	if own := r.Cap; own != nil {
		if c.Groups = cmp.Or(own.Groups, c.Groups); own.Rows > 0 {
			c.CapRows = own.CapRows
		}
	}
	c.Groups = min(c.Groups, d.groupsOfUnit(r))
	return &c
}

// groupsOfUnit returns the most groups of a release that a unit can be in: one for all columns that say something of the unit.
func (d *Dataset) groupsOfUnit(r *Release) int64 {
	most := int64(1)
	for _, name := range r.By {
		if d.OfUnit(name) {
			continue
		}
		c, _ := d.Column(name)
		if len(c.Domain) == 0 || most > MaxCells {
			return math.MaxInt64 // nobody lists its values
		}
		most *= int64(len(c.Domain))
	}
	if most > 1 && r.Other != "" {
		most++
	}
	return most
}

// OfUnit reports whether all rows of a unit have one value of a column: the job says so, or it is made of such columns, or of
// the rows that the unit has in another table.
func (d *Dataset) OfUnit(name string) bool {
	c, known := d.Column(name)
	own, has := d.Key.Own()
	switch {
	case has && name == own:
		return true
	case !known:
		return false
	case c.OnePerUnit || c.Joined != nil:
		return true
	case c.Lookup == nil && c.Derived == nil:
		return false
	}
	return !slices.ContainsFunc(c.MadeOf(), func(from string) bool { return !d.OfUnit(from) })
}

// Times returns how many rows each row counts as, so that noise covers as many whichever cap is chosen.
func (c *Cap) Times() int64 {
	if c.Choice == nil {
		return 0
	}
	return asked.MostRows / c.Rows
}

// NoUnit is the fate of a row whose unit is missing. The zero value is invalid.
type NoUnit string

// A row without a unit must not be there, is left out, or is a unit of its own.
const (
	NoUnitRefuse NoUnit = "refuse"
	NoUnitDrop   NoUnit = "drop"
	NoUnitOwn    NoUnit = "own"
)

// Lookup is a public table that adds columns to the rows.
type Lookup struct {
	Name    string
	Path    string
	Key     string   // the column of the public table, and of the data
	Match   string   // the column of the data, where it has another name
	Columns []Column // those that it adds
	// Public says that everybody may know who is in the file, where it is looked up by the column of the unit.
	Public bool

	// SHA256 is the digest of the file: a job with other contents asks for something else.
	SHA256 string
}

// On is the column of the data whose value is looked up.
func (l *Lookup) On() string {
	return cmp.Or(l.Match, l.Key)
}

// Derived computes a column from others: by an expression, or by bins of a
// column of numbers.
type Derived struct {
	As        Expression
	Bins      formula.Bins // without a column where there are none
	Edges     []Edge       // of the bins, as written
	AfterFold bool         // computed from the folded values of a unit, not from its rows

	After string // as written: "rows" or "fold"
}

// Edge is an edge of bins: a number, a day, or the open end of the first or of the last bin.
type Edge struct {
	At   float64 // days since 1970 for a day
	Day  bool
	Open string `json:",omitempty"` // "-inf", "inf", or "" for an edge that has a place
}

// Slice says that the table of the job is the rows in which a public column has one
// value (P26).
type Slice struct {
	Column, Is string
	// Future says that the slice may be a time that has not begun.
	Future bool
}

// Begins returns when a slice that is a day, a month, a quarter or an hour begins, and false for any other.
func (s *Slice) Begins() (time.Time, bool) {
	for _, layout := range []string{"2006-01-02", "2006-01", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(layout, s.Is); err == nil {
			return at, true
		}
	}
	n, ok := Quarter.Number(s.Is)
	if !ok {
		return time.Time{}, false
	}
	return time.Date(n/4, time.Month(3*(n%4)+1), 1, 0, 0, 0, 0, time.UTC), true
}

// Folds reports whether the job makes one row of each unit's rows.
func (d *Dataset) Folds() bool { return len(d.Fold) > 0 }

// FoldOf returns how a column is folded, "" where the job does not say.
func (d *Dataset) FoldOf(column string) FoldBy {
	f, _ := First(d.Fold, func(f Named[FoldBy]) bool { return f.Name == column })
	return f.Value
}

// Unfolded reports whether a unit may have several values of a column, because the job folds its rows and does not say
// how it folds that column.
func (d *Dataset) Unfolded(column string) bool {
	if !d.Folds() || d.FoldOf(column) != "" {
		return false
	}
	c, _ := d.Column(column)
	return c.Derived == nil || !c.Derived.AfterFold
}

// Sources are the columns of the table's files from which these are made, each once, with those that say whose a row is and in
// which slice.
func (d *Dataset) Sources(names ...string) []string {
	names = append(slices.Clone(names), d.Key.Column)
	if d.Slice != nil {
		names = append(names, d.Slice.Column)
	}
	own, _ := d.origins(names)
	return own
}

// Partners are the columns of other tables from which these are made, each once.
func (d *Dataset) Partners(names ...string) []Column {
	_, joined := d.origins(names)
	return joined
}

// origins follows columns to those that they are made of, each once: of the table's own files, and of other tables.
func (d *Dataset) origins(names []string) (own []string, joined []Column) {
	seen := map[string]bool{}
	var follow func(names []string)
	follow = func(names []string) {
		for _, name := range names {
			if seen[name] || name == "" || name == UnitRows && !d.Declares(name) {
				continue
			}
			seen[name] = true
			switch c, _ := d.Column(name); {
			case c.Joined != nil:
				joined = append(joined, c)
			case c.Lookup != nil || c.Derived != nil:
				follow(c.MadeOf())
			default:
				own = append(own, name)
			}
		}
	}
	follow(names)
	return own, joined
}

// BeforeFold are the columns of rows from which a column of folded rows is made.
func (d *Dataset) BeforeFold(name string) (all []string) {
	c, _ := d.Column(name)
	if c.Derived == nil || !c.Derived.AfterFold {
		return []string{name}
	}
	for _, from := range c.MadeOf() {
		all = append(all, d.BeforeFold(from)...)
	}
	return all
}
