package language

import (
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy"
)

func (k *checker) sample(s *job.Sample) {
	path := job.Key("samples", s.Name)
	switch s.Method {
	case job.SRSWOR:
		k.srswor(path, s)
	case job.Multistage:
		k.stages(path, s)
	case job.Stratified:
		k.stratified(path, s)
	case job.Kept:
		k.kept(path, s)
	case job.Rotation:
		k.drawnPanel(path, s)
	}
	if s.Keep && !k.used(s.Name) {
		k.wrong(job.Key(path, "keep"), "make a release from it", "no release is made from the sample, so nothing is drawn that could be kept")
	}
	k.folded(path, s)
}

// folded refuses strata and stages of units with several rows that do not say in which a
// unit lies (P22).
func (k *checker) folded(path string, s *job.Sample) {
	d := &k.j.Dataset
	need := func(at, column string) {
		if column != "" && d.Unfolded(column) {
			k.wrong(at, "say in dataset.fold how it is folded, such as "+column+": mode", severalValues, problem.Shown(column))
		}
	}
	need(job.Key(path, "strata"), s.Strata)
	for i, st := range s.Stages {
		need(job.Key(job.Item(job.Key(path, "stages"), i), "unit"), st.Unit)
	}
}

// kept finds two names for one draw: all that a job releases from it is composed
// in one place.
func (k *checker) kept(path string, s *job.Sample) {
	for i := range k.j.Samples {
		other := &k.j.Samples[i]
		if other == s {
			return
		}
		if other.Method == job.Kept && other.ID == s.ID && s.ID != "" {
			k.wrong(job.Key(path, "id"), "make the releases from "+other.Name, "%s is the same draw", problem.Shown(other.Name))
		}
	}
}

func (k *checker) used(sample string) bool {
	for _, r := range k.j.Releases {
		if r.From == sample {
			return true
		}
	}
	return false
}

func (k *checker) srswor(path string, s *job.Sample) {
	d := &k.j.Dataset
	size := job.Key(path, "size")
	switch {
	case d.Relation == privacy.AddRemove && d.AtLeast > 0 && s.Size > d.AtLeast:
		k.wrong(size, "", "must be at most dataset.at_least (%d > %d)", s.Size, d.AtLeast)
	case d.Relation == privacy.ReplaceOne && d.Size > 0 && s.Size > d.Size:
		k.wrong(size, "", "must be at most dataset.size (%d > %d)", s.Size, d.Size)
	}
}

// stages checks the units of the stages.
func (k *checker) stages(path string, s *job.Sample) {
	seen := map[string]bool{}
	for i, st := range s.Stages {
		at := job.Item(job.Key(path, "stages"), i)
		last := i == len(s.Stages)-1
		switch {
		case last && st.Unit != "":
			k.wrong(job.Key(at, "unit"), "add a last stage {take: …} that draws rows", "the last stage draws rows and has no unit")
		case !last && st.Unit == "" && !k.j.Has(job.Key(at, "unit")):
			k.wrong(job.Key(at, "unit"), "only the last stage draws rows", "is missing")
		case st.Unit != "" && seen[st.Unit]:
			k.wrong(job.Key(at, "unit"), "", "%s is the unit of two stages", problem.Shown(st.Unit))
		case st.Unit != "" && k.j.Dataset.Frame != nil && st.Unit == k.j.Dataset.Frame.Records:
			k.wrong(job.Key(at, "unit"), "", "%s is the frame's number of records, not a key", problem.Shown(st.Unit))
		}
		seen[st.Unit] = true
	}
}

func (k *checker) stratified(path string, s *job.Sample) {
	rates, takes, bySize := k.j.Has(job.Key(path, "rates")), k.j.Has(job.Key(path, "take")), k.j.Has(job.Key(path, "rates_by_size"))
	switch {
	case rates && takes:
		k.wrong(path, "say one of the two", "has both rates and take")
	case bySize:
	case !rates && !takes:
		k.wrong(path, "say rates (Poisson) or take (without replacement)", "has neither rates nor take")
	case takes:
		if col, ok := k.j.Dataset.Column(s.Strata); ok && col.Domain != nil {
			k.strata(path, "take", s.Strata, col.Domain, namesIn(s.Takes))
		}
	case rates:
		k.rateStrata(path, s)
	}
}

// rateStrata checks that there is a rate for each value of a declared category.
func (k *checker) rateStrata(path string, s *job.Sample) {
	if s.Strata == "" {
		return
	}
	col, ok := k.j.Dataset.Column(s.Strata)
	if !ok || !k.j.Has(job.Key(job.Key("dataset.columns", s.Strata), "domain")) {
		k.wrong(job.Key(path, "strata"), "declare it under dataset.columns with its domain",
			"%s is not a declared category", problem.Shown(s.Strata))
		return
	}
	if col.Domain != nil {
		k.strata(path, "rates", s.Strata, col.Domain, namesIn(s.Rates))
	}
}

// strata checks that the strata are exactly the domain of their column.
func (k *checker) strata(path, key, column string, domain, named []string) {
	inDomain, isNamed := setOf(domain), setOf(named)
	for _, n := range named {
		if !inDomain[n] {
			k.wrong(job.Key(job.Key(path, key), n), problem.DidYouMean(n, domain), "is not in the domain of %s", problem.Shown(column))
		}
	}
	for _, v := range domain {
		if !isNamed[v] {
			k.wrong(job.Key(path, key), "", "does not name the stratum %s", problem.Shown(v))
		}
	}
}
