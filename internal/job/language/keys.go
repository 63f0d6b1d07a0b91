package language

import (
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
)

func keysOf() kind[job.Keys] {
	return object(
		key("guarantee", guarantee(), func(k *job.Keys) *job.Guarantee { return &k.Guarantee },
			"What the selection may cost beside the release. It needs a delta. Without it, a count pays for both",
			example(`{epsilon: "0.2", delta: "1e-7"}`)),
		key("at_most", count(), func(k *job.Keys) *int64 { return &k.AtMost },
			"The largest number of values to release. Of more, a random choice or those with the largest noisy counts stay", otherwise("10000"),
			example("100000")),
		key("top", count(), func(k *job.Keys) *int64 { return &k.Top },
			"Instead of at_most: the values with the largest noisy numbers of units, in order", example("10")),
		key("from", text(), func(k *job.Keys) *string { return &k.From },
			"Another release from the same sample, with the same by and where, whose values are used for nothing", example("towns")),
	)
}

func suppress() kind[job.Suppress] {
	return object(
		key("below", amount(span{lo: "0", loOpen: true}), func(s *job.Suppress) **big.Rat { return &s.Below },
			"Groups whose noisy number of units (the column count, or estimate of a count) is smaller are marked, without values", example("10")),
		key("flag", amount(span{lo: "0", loOpen: true}), func(s *job.Suppress) **big.Rat { return &s.Flag },
			"Values with a larger relative error are marked in the column quality", example("0.15")),
		key("blank", amount(span{lo: "0", loOpen: true}), func(s *job.Suppress) **big.Rat { return &s.Blank },
			"Values with a larger relative error are blank", example("0.3")),
	)
}

// sameGroups reports whether two releases have the same groups of the same rows.
func sameGroups(r *job.Release, o *job.Release) bool {
	if r.From != o.From || r.Table != o.Table || r.Where.Text != o.Where.Text || len(r.By) != len(o.By) {
		return false
	}
	for i := range r.By {
		if r.By[i] != o.By[i] {
			return false
		}
	}
	return true
}

// suppress checks what blanks groups and values.
func (k *checker) suppress(i int, s *job.Suppress) {
	path := job.Key(job.Item("releases", i), "suppress")
	switch {
	case s == nil:
	case s.Below == nil && s.Flag == nil && s.Blank == nil:
		k.wrong(path, "say below, flag or blank, or leave it out", "blanks nothing")
	case s.Flag != nil && s.Blank != nil && s.Flag.Cmp(s.Blank) >= 0:
		k.wrong(job.Key(path, "blank"), "a value that is blank needs no mark", "must be larger than flag")
	}
}

// keys checks how the values of the groups of a release are found.
func (k *checker) keys(i int, r *job.Release) {
	path := job.Key(job.Item("releases", i), "keys")
	d := &k.j.Dataset
	unlisted := r.Unlisted(d)
	switch {
	case r.Keys == nil:
		return
	case unlisted == "" && slices.ContainsFunc(r.By, func(name string) bool { c, ok := d.Column(name); return !ok || c.Domain == nil }):
		return // it has its problem
	case unlisted == "":
		k.wrong(path, "leave it out", "selects values, and every column of by has a public list of them")
		return
	}
	at := job.Key(path, "guarantee")
	if r.Tallied() {
		at = guaranteePath(k.j, i)
	}
	switch from := r.Keys.From; {
	case from == "":
		if g := r.Selecting(); g.Rho == nil && g.Delta != nil && g.Delta.Sign() == 0 && !(r.Tallied() && r.Shares) {
			k.wrong(at, `say delta: "1e-7", or less`, "needs a delta: without one no value that a single unit has may ever appear")
		}
		k.selectedTwice(i, r, path)
	default:
		k.selectedBy(r, job.Key(path, "from"))
	}
}

// selectedTwice refuses a second selection of what an earlier release selects.
func (k *checker) selectedTwice(i int, r *job.Release, path string) {
	for o := range i {
		other := &k.j.Releases[o]
		if other.Keys != nil && other.Keys.From == "" && sameGroups(other, r) {
			k.wrong(path, "say keys: {from: "+other.Name+"}", "selects once more what release %s selects", other.Name)
			return
		}
	}
}

// selectedBy holds a release to the one whose selection it uses.
func (k *checker) selectedBy(r *job.Release, path string) {
	var names []string
	for i := range k.j.Releases {
		o := &k.j.Releases[i]
		if o.Keys == nil || o.Keys.From != "" {
			continue
		}
		if names = append(names, o.Name); o.Name != r.Keys.From {
			continue
		}
		if !sameGroups(o, r) {
			k.wrong(path, "make from, by and where the same, or say guarantee", "release %s has other groups, other rows or another sample", o.Name)
		}
		return
	}
	k.wrong(path, hintOr(problem.DidYouMean(r.Keys.From, names), "releases that select values", names),
		"%s is not a release that selects values", problem.Shown(r.Keys.From))
}
