package report

import (
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
)

// numbers shows the errors that are known before any data is read, what has no number, and on a page the meaning of columns.
func numbers(w words, r *Report, columns bool) document.Section {
	s := document.Section{ID: "numbers", Title: w.t("error.heading")}
	t := &document.Table{Name: w.t("error.heading"), Caption: w.t("error.caption"), Named: true,
		Head: []document.Head{{Name: w.t("error.part")}, {Name: w.t("error.sd"), Number: true}, {Name: w.t("error.half"), Number: true},
			{Name: w.t("error.basis"), Wide: true}}}
	var notes []document.Part
	about := map[string][]string{} // the releases of each note: what is alike is said once
	for _, e := range r.Releases[:min(len(r.Releases), maxReleases)] {
		known, said := errorsOf(w, e)
		for _, one := range known {
			t.Rows = append(t.Rows, document.Row(w.labels.Label(e.Name)+": "+strings.Join(one.of, ", ")))
			t.Rows = append(t.Rows, one.rows...)
		}
		if e.Verdict != "" {
			said = append(said, Sentence(w.note(e.Verdict)))
		}
		if text := strings.Join(said, " "); text != "" {
			if about[text] == nil {
				notes = append(notes, document.Part{Text: text})
			}
			about[text] = append(about[text], w.labels.Label(e.Name))
		}
	}
	for i, n := range notes {
		notes[i].Label = list(about[n.Text])
	}
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, document.Part{Table: t})
	}
	s.Parts = append(s.Parts, notes...)
	if r.anySampled() {
		s.Parts = append(s.Parts, note(w.t("error.variances")))
	}
	if columns {
		s.Parts = append(s.Parts, meanings(w, r)...)
	}
	return s
}

// meanings lists the columns of releases, those of the same name and meaning once.
func meanings(w words, r *Report) []document.Part {
	t := &document.Table{Name: w.t("error.columns"), Named: true,
		Head: document.Columns(w.t("error.column"), w.t("error.meaning"), w.t("error.in"))}
	t.Head[1].Wide = true
	at := map[[2]string]int{}
	for _, e := range r.Releases[:min(len(r.Releases), maxReleases)] {
		for _, f := range e.Fields {
			if f.Doc == "" {
				continue
			}
			k, known := at[[2]string{f.Name, f.Doc}]
			switch {
			case !known:
				at[[2]string{f.Name, f.Doc}] = len(t.Rows)
				t.Rows = append(t.Rows, document.Row(f.Name, w.note(f.Doc), w.labels.Label(e.Name)))
			case len(t.Rows[k][2].Text) < 120:
				t.Rows[k][2].Text += ", " + w.labels.Label(e.Name)
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []document.Part{{Heading: w.t("error.columns"), Table: t}}
}

// expectation holds the parts of an error that some values of a release have alike.
type expectation struct {
	of   []string
	rows [][]document.Cell
}

// errorsOf returns the expected errors of a release, and sentences on what has no number, each once.
func errorsOf(w words, e Release) (known []expectation, notes []string) {
	say := func(text string) {
		if text = Sentence(text); !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	numbers, whole := false, false
	for _, x := range e.Expected {
		if why := x.Useless(); why != "" {
			say(w.t("error.useless", w.note(why)))
		}
		name, measured := w.note(x.Field), x.NoiseSD > 0 || x.Half95 > 0
		if x.Note != "" && measured {
			name += " (" + w.note(x.Note) + ")"
		} else if x.Note != "" {
			say(w.note(x.Note))
		}
		if text := oneEnds(w, x.OneEnd); text != "" {
			say(text)
		}
		s := x.Sampling
		if s != nil && s.BoundSD == nil {
			say(w.t("error.unknown", w.note(s.Unknown)))
		}
		numbers, whole = numbers || measured, whole || s != nil && s.BoundSD != nil && *s.BoundSD == 0
		rows := x.rows(w)
		same := func(k expectation) bool { return slices.EqualFunc(k.rows, rows, slices.Equal[[]document.Cell]) }
		if k := slices.IndexFunc(known, same); k >= 0 && len(known[k].of) < 12 {
			known[k].of = append(known[k].of, name)
		} else if k < 0 && len(rows) > 0 {
			known = append(known, expectation{[]string{name}, rows})
		}
	}
	if numbers {
		return known, notes
	}
	has := func(name string) bool {
		return slices.ContainsFunc(e.Fields, func(f Field) bool { return f.Name == name })
	}
	switch {
	case has("interval_low"):
		say(w.t("error.in_interval"))
	case has("noise_sd") && has("noise_low"):
		say(w.t("error.in_noise"))
	case has("noise_sd"):
		say(w.t("error.in_sd"))
	default:
		say(w.t("error.secret"))
	}
	if whole {
		say(w.t("error.whole"))
	}
	return known, notes
}

// rows are the parts of an error that have numbers: of the noise, of the draw, and of both.
func (e ExpectedError) rows(w words) (out [][]document.Cell) {
	add := func(what string, sd, half float64, basis string) {
		shown := [2]string{"–", "–"}
		if sd > 0 {
			shown[0] = plain(sd, 4)
		}
		if half > 0 {
			shown[1] = "±\u202f" + plain(half, 4)
		}
		out = append(out, []document.Cell{{Text: w.t(what)}, {Text: shown[0], Number: true}, {Text: shown[1], Number: true}, {Text: basis}})
	}
	if e.NoiseSD > 0 || e.Half95 > 0 {
		basis := w.t("error.law")
		if e.Beside != "" {
			basis += "; " + w.note(e.Beside)
		}
		add("error.noise", e.NoiseSD, e.Half95, basis)
	}
	s := e.Sampling
	switch {
	case s == nil || s.BoundSD == nil || *s.BoundSD == 0 && len(out) == 0:
		return out
	case *s.BoundSD == 0:
		add("error.sampling", 0, 0, w.t("error.whole"))
		return out
	}
	add("error.worst", *s.BoundSD, 0, w.t("error.any_table"))
	if s.Assumption != "" {
		add("error.assumed", s.AssumedSD, 0, w.note(s.Assumption))
	}
	for _, both := range []struct {
		what string
		c    *Combined
	}{{"error.both_worst", s.Worst}, {"error.both_assumed", s.Assumed}} {
		switch c := both.c; {
		case c == nil:
		case c.Half95 == 0:
			add(both.what, c.SD, c.Half95Any, w.t("error.chebyshev"))
		default:
			add(both.what, c.SD, c.Half95, w.t("error.normal", "±\u202f"+plain(c.Half95Any, 4)))
		}
	}
	return out
}

// oneEnds writes the share of intervals that have no two ends, "" where that is of no account.
func oneEnds(w words, share float64) string {
	switch n := math.Round(100 * share); {
	case n < 1:
		return ""
	case n > 99:
		return w.t("error.one_end_all")
	default:
		return w.t("error.one_end", int(n))
	}
}
