package language

import (
	"math/big"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
)

func series() kind[job.Series] {
	return object(
		key("periods", periods(), func(s *job.Series) *job.Periods { return &s.Periods },
			"All periods, paid for before the first one is measured. Each is a value of the column of dataset.slice", required(),
			example("{from: 2026-01, to: 2028-12, each: month}")),
		key("publish", distinct(list(seriesRow(), 1)), func(s *job.Series) *[]job.SeriesRow { return &s.Publish },
			"The rows that are published. The noise is chosen for them before the first period; later changes are free", required(),
			example("[month, quarter, year, running, {rolling: 12}, {change: 12}]")),
		key("weights", byName(amount(span{lo: "0", hi: "1000000", loOpen: true}), "KIND", checkText),
			func(s *job.Series) *[]job.Named[*big.Rat] { return &s.Weights },
			"How exact a kind of row is compared with the others, by its name in the release; 1 if not named",
			example("{running: 4, rolling-12: 2}")),
		key("goal", choice(job.RMS, job.Worst), func(s *job.Series) *job.SeriesGoal { return &s.Goal },
			"Which error is made small: the root mean square over all rows, or the worst row", otherwise(string(job.RMS))),
		key("periods_of_unit", optional(periodsOfUnit()), func(s *job.Series) **job.PeriodsOfUnit { return &s.Unit },
			"What the guarantee covers: a unit in up to so many periods (docs/understand/series.md). Without it: one period of a unit"),
		key("revised", choice(job.RevisedRefuse, job.RevisedAccept), func(s *job.Series) *job.Revised { return &s.Revised },
			"If a slice changed since it was measured, refuse ends the run; accept counts late rows in part, from then on, and may cost more",
			otherwise(string(job.RevisedRefuse))),
	)
}

func periods() kind[job.Periods] {
	form := func() kind[string] {
		return pattern("a period such as 2026-03, 2026-Q1 or 2026", `^[0-9]{4}(-(0[1-9]|1[0-2]|Q[1-4]))?$`)
	}
	return object(
		key("from", form(), func(p *job.Periods) *string { return &p.From }, "The first period", required(), example("2026-01")),
		key("to", form(), func(p *job.Periods) *string { return &p.To }, "The last period", required(), example("2028-12")),
		key("each", choice(job.Month, job.Quarter, job.Year), func(p *job.Periods) *job.Each { return &p.Each },
			"The length of a period", otherwise(string(job.Month))),
	)
}

func periodsOfUnit() kind[job.PeriodsOfUnit] {
	return object(
		key("at_most", count(), func(u *job.PeriodsOfUnit) *int64 { return &u.AtMost },
			"In how many periods a unit counts", required(), example("3")),
		key("apart", count(), func(u *job.PeriodsOfUnit) *int64 { return &u.Apart },
			"How many periods at least lie between two in which a unit counts", otherwise("1"), example("12")),
		binds(func(u *job.PeriodsOfUnit) *job.Binds { return &u.Binds }, "the limit"),
	)
}

// seriesRow is a word, or a mapping with one number.
func seriesRow() kind[job.SeriesRow] {
	const label = "one of month, quarter, year, running, year-to-date, {rolling: 12}, {change: 12}"
	month, quarter, year := job.SeriesKind(job.Month), job.SeriesKind(job.Quarter), job.SeriesKind(job.Year)
	word := transform(oneWord(label, month, quarter, year, job.Running, job.YearToDate),
		func(k job.SeriesKind) (job.SeriesRow, error) { return job.SeriesRow{Kind: k}, nil })
	long := func(of job.SeriesKind, doc string) field[job.SeriesRow] {
		rows := transform(count(), func(n int64) (job.SeriesRow, error) { return job.SeriesRow{Kind: of, N: n}, nil })
		return key(string(of), rows, func(r *job.SeriesRow) *job.SeriesRow { return r }, doc, example("12"))
	}
	numbered := object(long(job.Rolling, "The sum of so many periods up to this one"),
		long(job.Change, "The difference from so many periods before"))
	k := orMapping(label, word, numbered)
	k.suffix, k.facts = "[].", nil
	k.read = func(c *cursor, p lang.Place, into *job.SeriesRow) bool {
		if p.Node.Kind != yaml.MappingNode || len(p.Node.Content) != 2 {
			return word.read(c, p, into)
		}
		return numbered.read(c, p, into) && into.N > 0
	}
	return k
}

// series finds what is wrong with the series of a job (P31).
func (k *checker) series() {
	for i := range k.j.Releases {
		if r := &k.j.Releases[i]; r.Series != "" && k.j.InSeries(r) == nil {
			k.wrong(job.Key(job.Item("releases", i), "series"), "declare it under series", "%s is not a series of this job", problem.Shown(r.Series))
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
			k.wrong(job.Item("releases", i), "say series, or move the release into a job of its own",
				"is in no series, and the other releases of the job are")
		}
	}
}

// oneSeries finds what is wrong with one series.
func (k *checker) oneSeries(s, first *job.Series) {
	at := job.Key("series", s.Name)
	p := &s.Periods
	for _, end := range []struct{ key, text string }{{"from", p.From}, {"to", p.To}} {
		if _, ok := p.Each.Number(end.text); end.text != "" && !ok {
			k.wrong(job.Key(job.Key(at, "periods"), end.key), "", "must be a %s, such as %s, not %s", p.Each,
				p.Each.Text(2026*p.Each.InYear()), problem.Shown(end.text))
			return
		}
	}
	if p.From == "" || p.To == "" || p.Each == "" {
		return // it has its problem
	}
	all := p.All()
	switch {
	case len(all) == 0 && p.To < p.From:
		k.wrong(job.Key(job.Key(at, "periods"), "to"), "", "must not be before from (%s < %s)", p.To, p.From)
	case len(all) == 0:
		k.wrong(job.Key(job.Key(at, "periods"), "to"), "begin a second series after it",
			"must be at most %d periods after from", job.MostPeriods-1)
	case len(all) == 1:
		k.wrong(job.Key(job.Key(at, "periods"), "to"), "leave the series out", "must be after from: one period is no series")
	case *p != first.Periods || s.Revised != first.Revised || s.OfUnit() != first.OfUnit():
		k.wrong(at, "put it into a job of its own", "has other periods, periods_of_unit or revised than %s", problem.Shown(first.Name))
	}
	if len(all) < 2 {
		return
	}
	if s.Unit != nil && s.Unit.AtMost > int64(len(all)) {
		k.wrong(job.Key(job.Key(at, "periods_of_unit"), "at_most"), "", "must be at most %d, the number of periods", len(all))
	}
	published := map[string]bool{}
	for i, r := range s.Publish {
		if published[r.String()] = true; r.Kind == "" {
			return // it could not be read
		}
		if e := job.Each(r.Kind); r.N == 0 && e.InYear() > p.Each.InYear() {
			k.wrong(job.Item(job.Key(at, "publish"), i), "", "must not be %s: the periods are longer", r.Kind)
		} else if len(p.Stretches(r)) == 0 {
			k.wrong(job.Item(job.Key(at, "publish"), i), "", "has no whole %s between %s and %s", r, p.From, p.To)
		}
	}
	for _, w := range s.Weights {
		if !published[w.Name] {
			k.wrong(job.Key(job.Key(at, "weights"), w.Name), "", "%s is not published", problem.Shown(w.Name))
		}
	}
}
