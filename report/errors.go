package report

import "slices"

// errorView is one expected error as the page shows it: a table of its parts, and
// what has no number.
type errorView struct {
	Title string
	Rows  []errorRow
	Notes []string
}

// errorRow is one part of an error: its standard deviation, half the interval that
// holds it in 95 of 100 cases, and what that rests on.
type errorRow struct{ What, SD, Half, Basis string }

// errorViews are the expected errors of a release; those that differ in their title
// alone are one, and what has no number is said once.
func errorViews(all []ExpectedError, fields []Field) (views []errorView, notes []string) {
	note := func(text string) {
		if !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	numbers, whole := false, false
	for _, e := range all {
		v := newErrorView(e)
		numbers = numbers || e.NoiseSD > 0 || e.Half95 > 0
		whole = whole || e.Sampling != nil && e.Sampling.BoundSD != nil && *e.Sampling.BoundSD == 0
		for _, n := range v.Notes {
			note(n)
		}
		if len(v.Rows) == 0 {
			continue
		}
		k := slices.IndexFunc(views, func(w errorView) bool { return slices.Equal(w.Rows, v.Rows) })
		if k < 0 {
			views = append(views, v)
		} else if len(views[k].Title) < 200 {
			views[k].Title += ", " + v.Title
		}
	}
	if !numbers {
		has := func(name string) bool {
			return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name })
		}
		switch {
		case has("interval_low"):
			note("The columns interval_low and interval_high hold the confidence interval for the population's value, of noise and sampling together; noise_sd says how large the noise alone is.")
		case has("noise_sd") && has("noise_low"):
			note("The columns noise_sd, noise_low and noise_high say how large the noise in each value is; they follow from released values alone.")
		case has("noise_sd"):
			note("The column noise_sd says how large the noise in each value is; it follows from released values alone.")
		default:
			note("How large the error of a released value is cannot be said without the data.")
		}
		if whole {
			note("Sampling adds nothing: the whole table was read.")
		}
	}
	return views, notes
}

func newErrorView(e ExpectedError) errorView {
	v := errorView{Title: e.Field}
	if why := e.Useless(); why != "" {
		v.Notes = append(v.Notes, sentence("this value is of no use: "+why))
	}
	switch known := e.NoiseSD > 0 || e.Half95 > 0; {
	case known && e.Note != "":
		v.Title += " (" + e.Note + ")"
	case e.Note != "":
		v.Notes = append(v.Notes, sentence(e.Note))
	}
	if e.NoiseSD > 0 || e.Half95 > 0 {
		basis := "the law of the noise"
		if e.Beside != "" {
			basis += "; " + e.Beside
		}
		v.Rows = append(v.Rows, errorRow{"noise alone", shown(e.NoiseSD), half(e.Half95), basis})
	}
	s := e.Sampling
	switch {
	case s == nil:
		return v
	case s.BoundSD == nil:
		v.Notes = append(v.Notes, "Sampling: how far drawing the sample moves the value is not public: "+s.Unknown+".")
		return v
	case *s.BoundSD == 0 && len(v.Rows) == 0:
		return v
	case *s.BoundSD == 0:
		v.Rows = append(v.Rows, errorRow{"sampling", "0", "±\u202f0", "the whole table was read"})
		return v
	}
	v.Rows = append(v.Rows, errorRow{"sampling alone, at worst", shown(*s.BoundSD), "", "whatever the table holds within its public bounds"})
	if s.Assumption != "" {
		v.Rows = append(v.Rows, errorRow{"sampling alone, assumed", shown(s.AssumedSD), "", s.Assumption})
	}
	v.add("noise and sampling, at worst", s.Worst)
	v.add("noise and sampling, assumed", s.Assumed)
	return v
}

func (v *errorView) add(what string, c *Combined) {
	switch {
	case c == nil:
	case c.Half95 == 0:
		v.Rows = append(v.Rows, errorRow{what, shown(c.SD), half(c.Half95Any), "Chebyshev’s inequality"})
	default:
		v.Rows = append(v.Rows, errorRow{what, shown(c.SD), half(c.Half95), "normal approximation; " + half(c.Half95Any) + " without it (Chebyshev’s inequality)"})
	}
}

// shown is a number of the table of errors, or a dash where there is none.
func shown(x float64) string {
	if x == 0 {
		return "–"
	}
	return plain(x, 4)
}

func half(x float64) string {
	if x == 0 {
		return "–"
	}
	return "±\u202f" + plain(x, 4)
}
