package job

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
)

// Series is one figure for each of many periods, whose noise is correlated over time (P31).
type Series struct {
	Name    string
	Periods Periods
	Publish []SeriesRow
	// Weights say which kinds of rows matter more; one that is not named has weight 1.
	Weights []Named[*big.Rat]
	Goal    SeriesGoal
	Unit    *PeriodsOfUnit // nil for one period
	Revised Revised
}

// Periods are the periods of a series, all known before the first one.
type Periods struct {
	From, To string
	Each     Each
}

// Each is the length of a period.
type Each string

// The lengths of periods. Their texts are 2026-03, 2026-Q1 and 2026.
const (
	Month   Each = "month"
	Quarter Each = "quarter"
	Year    Each = "year"
)

// SeriesGoal names the error of the published rows that is made small.
type SeriesGoal string

// The goals: the root of the mean of the squared errors, or the largest error.
const (
	RMS   SeriesGoal = "rms"
	Worst SeriesGoal = "worst"
)

// PeriodsOfUnit limits the periods that the guarantee of a series covers: a unit is in up to AtMost of them, any two
// of which are at least Apart periods apart.
type PeriodsOfUnit struct {
	AtMost, Apart int64
	Binds         Binds
}

// CapsPeriods reports whether a run counts each unit in its first periods alone, as many and as far apart as
// periods_of_unit says. Otherwise nothing checks in how many periods a unit is. A slice may then not change, since a
// late row could push out one that was counted (P31).
func (j *Job) CapsPeriods() bool {
	said := slices.ContainsFunc(j.Series, func(s Series) bool { return s.Unit != nil }) // all series of a job mean the same units
	return said && j.Dataset.Key.Column != "" && j.Series[0].Revised != RevisedAccept
}

// PeriodsOfUnit returns in how many periods a unit of a job with a series counts.
func (j *Job) PeriodsOfUnit() PeriodsOfUnit { return j.Series[0].OfUnit() }

// Revised is the rule for a slice that changed since it was measured.
type Revised string

// The answers: it refuses, or it reads the slice as it is now.
const (
	RevisedRefuse Revised = "refuse"
	RevisedAccept Revised = "accept"
)

// SeriesRow is one kind of published row.
type SeriesRow struct {
	Kind SeriesKind
	N    int64 // of Rolling and Change
}

// SeriesKind names the periods that a row adds up or compares.
type SeriesKind string

// The kinds of rows. Month, Quarter and Year are those of Each.
const (
	Running    SeriesKind = "running"
	YearToDate SeriesKind = "year-to-date"
	Rolling    SeriesKind = "rolling"
	Change     SeriesKind = "change"
)

// String is the name of the kind in the release, such as rolling-12.
func (r SeriesRow) String() string {
	if r.N == 0 {
		return string(r.Kind)
	}
	return fmt.Sprintf("%s-%d", r.Kind, r.N)
}

// MostPeriods bounds the periods of a series: the matrix grows with their square.
const MostPeriods = 240

// Number is the place of a period on a line of periods of its length; ok is false for another
// length.
func (e Each) Number(text string) (n int, ok bool) {
	form := map[Each]string{Month: `^([0-9]{4})-([0-9]{2})$`, Quarter: `^([0-9]{4})-Q([1-4])$`, Year: `^([0-9]{4})()$`}[e]
	m := regexp.MustCompile(form).FindStringSubmatch(text)
	if m == nil || form == "" { // a length that could not be read has its problem already
		return 0, false
	}
	year, _ := strconv.Atoi(m[1])
	part, _ := strconv.Atoi(m[2])
	return year*e.InYear() + max(part, 1) - 1, true
}

// InYear is the number of periods of a year.
func (e Each) InYear() int { return map[Each]int{Month: 12, Quarter: 4, Year: 1}[e] }

// Text is a period as the column of the slices has it.
func (e Each) Text(n int) string {
	year, part := n/e.InYear(), n%e.InYear()+1
	switch e {
	case Month:
		return fmt.Sprintf("%04d-%02d", year, part)
	case Quarter:
		return fmt.Sprintf("%04d-Q%d", year, part)
	}
	return fmt.Sprintf("%04d", year)
}

// All are the texts of the periods, in their order.
func (p Periods) All() (texts []string) {
	from, ok1 := p.Each.Number(p.From)
	to, ok2 := p.Each.Number(p.To)
	if ok1 && ok2 && to-from < MostPeriods {
		for n := from; n <= to; n++ {
			texts = append(texts, p.Each.Text(n))
		}
	}
	return texts
}

// SeriesStretch is one published row: the periods that it adds up, from First to Last, which is the period
// of publication; and for a change the period that is taken away.
type SeriesStretch struct {
	Row         SeriesRow
	Label       string // of the period that the row is about
	First, Last int    // of Periods.All, from 0
	Less        int    // of a change; else -1
}

// Stretches are the rows of one kind, in the order of their publication. Quarters, years and years to date
// begin where their first period is one of the series, and windows are full.
func (p Periods) Stretches(r SeriesRow) (out []SeriesStretch) {
	all := p.All()
	start, _ := p.Each.Number(p.From)
	whole := func(e, length int, label string) {
		if first := e - length + 1; first >= 0 && (start+e+1)%length == 0 {
			out = append(out, SeriesStretch{r, label, first, e, -1})
		}
	}
	for e, label := range all {
		n, year := start+e, (start+e)/p.Each.InYear()
		switch {
		case string(r.Kind) == string(p.Each):
			out = append(out, SeriesStretch{r, label, e, e, -1})
		case r.Kind == SeriesKind(Quarter):
			whole(e, 3, Quarter.Text(n/3))
		case r.Kind == SeriesKind(Year):
			whole(e, p.Each.InYear(), Year.Text(year))
		case r.Kind == Running:
			out = append(out, SeriesStretch{r, label, 0, e, -1})
		case r.Kind == YearToDate:
			if first := year*p.Each.InYear() - start; first >= 0 {
				out = append(out, SeriesStretch{r, label, first, e, -1})
			}
		case r.Kind == Rolling && int64(e)+1 >= r.N:
			out = append(out, SeriesStretch{r, label, e - int(r.N) + 1, e, -1})
		case r.Kind == Change && int64(e) >= r.N:
			out = append(out, SeriesStretch{r, label, e, e, e - int(r.N)})
		}
	}
	return out
}

// InSeries is the series of a release, nil where it has none.
func (j *Job) InSeries(r *Release) *Series {
	if at := slices.IndexFunc(j.Series, func(s Series) bool { return s.Name == r.Series }); at >= 0 {
		return &j.Series[at]
	}
	return nil
}

// Step returns the place of the job's slice among the periods of its series; ok is false where it has none.
func (j *Job) Step() (at int, ok bool) {
	if len(j.Series) == 0 || j.Dataset.Slice == nil {
		return 0, false
	}
	at = slices.Index(j.Series[0].Periods.All(), j.Dataset.Slice.Is)
	return at, at >= 0
}

// AtPeriod is the job of another period of its series.
func (j *Job) AtPeriod(period string) *Job {
	other, slice := *j, *j.Dataset.Slice
	slice.Is = period
	other.Dataset.Slice = &slice
	return &other
}

// OfUnit is PeriodsOfUnit with its default.
func (s *Series) OfUnit() PeriodsOfUnit {
	if s.Unit == nil {
		return PeriodsOfUnit{AtMost: 1, Apart: 1}
	}
	return *s.Unit
}
