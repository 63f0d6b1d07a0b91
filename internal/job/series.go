package job

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
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
func (j *Job) PeriodsOfUnit() PeriodsOfUnit { return j.Series[0].unit() }

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

func (r SeriesRow) canonical() any { return r.String() }

// mostPeriods bounds the periods of a series: the matrix grows with their square.
const mostPeriods = 240

func series() kind[Series] {
	return object(
		key("periods", periods(), func(s *Series) *Periods { return &s.Periods },
			"All periods, paid for before the first one is measured. Each is a value of the column of dataset.slice", required(),
			example("{from: 2026-01, to: 2028-12, each: month}")),
		key("publish", distinct(list(seriesRow(), 1)), func(s *Series) *[]SeriesRow { return &s.Publish },
			"The rows that are published. The noise is chosen for them before the first period; later changes are free", required(),
			example("[month, quarter, year, running, {rolling: 12}, {change: 12}]")),
		key("weights", byName(amount(span{lo: "0", hi: "1000000", loOpen: true}), "KIND", checkText),
			func(s *Series) *[]Named[*big.Rat] { return &s.Weights },
			"How exact a kind of row is compared with the others, by its name in the release; 1 if not named",
			example("{running: 4, rolling-12: 2}")),
		key("goal", choice(RMS, Worst), func(s *Series) *SeriesGoal { return &s.Goal },
			"Which error is made small: the root mean square over all rows, or the worst row", otherwise(string(RMS))),
		key("periods_of_unit", optional(periodsOfUnit()), func(s *Series) **PeriodsOfUnit { return &s.Unit },
			"What the guarantee covers: a unit in up to so many periods (docs/understand/series.md). Without it: one period of a unit"),
		key("revised", choice(RevisedRefuse, RevisedAccept), func(s *Series) *Revised { return &s.Revised },
			"If a slice changed since it was measured, refuse ends the run; accept counts late rows in part, from then on, and may cost more",
			otherwise(string(RevisedRefuse))),
	)
}

func periods() kind[Periods] {
	form := func() kind[string] {
		return pattern("a period such as 2026-03, 2026-Q1 or 2026", `^[0-9]{4}(-(0[1-9]|1[0-2]|Q[1-4]))?$`)
	}
	return object(
		key("from", form(), func(p *Periods) *string { return &p.From }, "The first period", required(), example("2026-01")),
		key("to", form(), func(p *Periods) *string { return &p.To }, "The last period", required(), example("2028-12")),
		key("each", choice(Month, Quarter, Year), func(p *Periods) *Each { return &p.Each }, "The length of a period", otherwise(string(Month))),
	)
}

func periodsOfUnit() kind[PeriodsOfUnit] {
	return object(
		key("at_most", count(), func(u *PeriodsOfUnit) *int64 { return &u.AtMost },
			"In how many periods a unit counts", required(), example("3")),
		key("apart", count(), func(u *PeriodsOfUnit) *int64 { return &u.Apart },
			"How many periods at least lie between two in which a unit counts", otherwise("1"), example("12")),
		binds(func(u *PeriodsOfUnit) *Binds { return &u.Binds }, "the limit"),
	)
}

// seriesRow is a word, or a mapping with one number.
func seriesRow() kind[SeriesRow] {
	words := []string{string(Month), string(Quarter), string(Year), string(Running), string(YearToDate)}
	numbered := object(
		key("rolling", count(), func(n *[2]int64) *int64 { return &n[0] }, "The sum of so many periods up to this one", example("12")),
		key("change", count(), func(n *[2]int64) *int64 { return &n[1] }, "The difference from so many periods before", example("12")),
	)
	label := "one of month, quarter, year, running, year-to-date, {rolling: 12}, {change: 12}"
	return kind[SeriesRow]{label: label, schema: schema{"anyOf": []schema{{"enum": words}, numbered.schema}}, nested: numbered.nested,
		suffix: "[].",
		read: func(c *cursor, p lang.Place, into *SeriesRow) bool {
			if slices.Contains(words, p.Node.Value) {
				into.Kind = SeriesKind(p.Node.Value)
				return true
			}
			var n [2]int64
			if len(p.Node.Content) == 2 && numbered.read(c, p, &n) {
				if *into = (SeriesRow{Rolling, n[0]}); n[1] > 0 {
					*into = SeriesRow{Change, n[1]}
				}
				return into.N > 0
			}
			return c.Wrong(p, problem.DidYouMean(p.Node.Value, words), "must be %s, not %s", label, lang.ShapeOf(p.Node))
		}}
}

// number is the place of a period on a line of periods of its length; ok is false for another
// length.
func (e Each) number(text string) (n int, ok bool) {
	form := map[Each]string{Month: `^([0-9]{4})-([0-9]{2})$`, Quarter: `^([0-9]{4})-Q([1-4])$`, Year: `^([0-9]{4})()$`}[e]
	m := regexp.MustCompile(form).FindStringSubmatch(text)
	if m == nil || form == "" { // a length that could not be read has its problem already
		return 0, false
	}
	year, _ := strconv.Atoi(m[1])
	part, _ := strconv.Atoi(m[2])
	return year*e.inYear() + max(part, 1) - 1, true
}

// inYear is the number of periods of a year.
func (e Each) inYear() int { return map[Each]int{Month: 12, Quarter: 4, Year: 1}[e] }

// text is a period as the column of the slices has it.
func (e Each) text(n int) string {
	year, part := n/e.inYear(), n%e.inYear()+1
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
	from, ok1 := p.Each.number(p.From)
	to, ok2 := p.Each.number(p.To)
	if ok1 && ok2 && to-from < mostPeriods {
		for n := from; n <= to; n++ {
			texts = append(texts, p.Each.text(n))
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
	start, _ := p.Each.number(p.From)
	whole := func(e, length int, label string) {
		if first := e - length + 1; first >= 0 && (start+e+1)%length == 0 {
			out = append(out, SeriesStretch{r, label, first, e, -1})
		}
	}
	for e, label := range all {
		n, year := start+e, (start+e)/p.Each.inYear()
		switch {
		case string(r.Kind) == string(p.Each):
			out = append(out, SeriesStretch{r, label, e, e, -1})
		case r.Kind == SeriesKind(Quarter):
			whole(e, 3, Quarter.text(n/3))
		case r.Kind == SeriesKind(Year):
			whole(e, p.Each.inYear(), Year.text(year))
		case r.Kind == Running:
			out = append(out, SeriesStretch{r, label, 0, e, -1})
		case r.Kind == YearToDate:
			if first := year*p.Each.inYear() - start; first >= 0 {
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

// SeriesDigest names the question of a series: all that Digest names, without the period and without what
// is public arithmetic on the measurements.
func (j *Job) SeriesDigest() string {
	same := j.AtPeriod("")
	same.Series = slices.Clone(j.Series)
	for i := range same.Series {
		s := &same.Series[i]
		s.Publish, s.Weights, s.Goal = nil, nil, ""
	}
	return same.Digest()
}

// series finds what is wrong with the series of a job (P31).
func (k *checker) series() {
	for i := range k.j.Releases {
		if r := &k.j.Releases[i]; r.Series != "" && k.j.InSeries(r) == nil {
			k.wrong(Key(Item("releases", i), "series"), "declare it under series", "%s is not a series of this job", problem.Shown(r.Series))
		}
	}
	if len(k.j.Series) == 0 {
		return
	}
	d := &k.j.Dataset
	first := &k.j.Series[0]
	for i := range k.j.Series {
		k.oneSeries(&k.j.Series[i], first)
	}
	if _, ok := k.j.Step(); !ok && d.Slice != nil && d.Slice.Is != "" && len(first.Periods.All()) > 0 {
		k.wrong("dataset.slice.is", "", "must be a period of the series, from %s to %s, not %s", first.Periods.From, first.Periods.To,
			problem.Shown(d.Slice.Is))
	}
	for i, r := range k.j.Releases {
		if r.Series == "" {
			k.wrong(Item("releases", i), "say series, or move the release into a job of its own",
				"is in no series, and the other releases of the job are")
		}
	}
}

// oneSeries finds what is wrong with one series.
func (k *checker) oneSeries(s, first *Series) {
	at := Key("series", s.Name)
	p := &s.Periods
	for _, end := range []struct{ key, text string }{{"from", p.From}, {"to", p.To}} {
		if _, ok := p.Each.number(end.text); end.text != "" && !ok {
			k.wrong(Key(Key(at, "periods"), end.key), "", "must be a %s, such as %s, not %s", p.Each,
				p.Each.text(2026*p.Each.inYear()), problem.Shown(end.text))
			return
		}
	}
	if p.From == "" || p.To == "" || p.Each == "" {
		return // it has its problem
	}
	all := p.All()
	switch {
	case len(all) == 0 && p.To < p.From:
		k.wrong(Key(Key(at, "periods"), "to"), "", "must not be before from (%s < %s)", p.To, p.From)
	case len(all) == 0:
		k.wrong(Key(Key(at, "periods"), "to"), "begin a second series after it", "must be at most %d periods after from", mostPeriods-1)
	case len(all) == 1:
		k.wrong(Key(Key(at, "periods"), "to"), "leave the series out", "must be after from: one period is no series")
	case *p != first.Periods || s.Revised != first.Revised || s.unit() != first.unit():
		k.wrong(at, "put it into a job of its own", "has other periods, periods_of_unit or revised than %s", problem.Shown(first.Name))
	}
	if len(all) < 2 {
		return
	}
	if s.Unit != nil && s.Unit.AtMost > int64(len(all)) {
		k.wrong(Key(Key(at, "periods_of_unit"), "at_most"), "", "must be at most %d, the number of periods", len(all))
	}
	published := map[string]bool{}
	for i, r := range s.Publish {
		if published[r.String()] = true; r.Kind == "" {
			return // it could not be read
		}
		if e := Each(r.Kind); r.N == 0 && e.inYear() > p.Each.inYear() {
			k.wrong(Item(Key(at, "publish"), i), "", "must not be %s: the periods are longer", r.Kind)
		} else if len(p.Stretches(r)) == 0 {
			k.wrong(Item(Key(at, "publish"), i), "", "has no whole %s between %s and %s", r, p.From, p.To)
		}
	}
	for _, w := range s.Weights {
		if !published[w.Name] {
			k.wrong(Key(Key(at, "weights"), w.Name), "", "%s is not published", problem.Shown(w.Name))
		}
	}
}

// unit is PeriodsOfUnit with its default.
func (s *Series) unit() PeriodsOfUnit {
	if s.Unit == nil {
		return PeriodsOfUnit{AtMost: 1, Apart: 1}
	}
	return *s.Unit
}
