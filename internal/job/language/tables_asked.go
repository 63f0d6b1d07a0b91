package language

import (
	"maps"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// askedOfTables adds the releases that keys of each table ask for: what finds bounds, and what measures pay for. They count
// the rows of that table, and are charged with all others.
func (k *checker) askedOfTables() {
	k.each(func(t *checker) {
		t.j.Releases = k.j.Releases
		t.measures()
		t.searches()
		k.j.Releases = t.j.Releases
	})
}

// own are the releases from the table that the job is seen from: all of them where the data set is one table.
func (k *checker) own() []job.Release {
	return slices.DeleteFunc(slices.Clone(k.j.Releases), func(r job.Release) bool { return r.Table != k.j.Dataset.Table })
}

// weightsOfTables holds each table from which a weighted release comes to what dataset.weights says: the weight of a row is in
// a column of its table, its own or that of its unit in another one.
func (k *checker) weightsOfTables() {
	w, seen := k.j.Dataset.Weights, map[string]bool{}
	if w == nil {
		return
	}
	for _, r := range k.j.Releases {
		if k.j.Dataset.WeightsOf(&r) != nil {
			seen[r.Table] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if t, ok := k.j.Dataset.TableOf(name); ok {
			if _, has := t.Column(w.Column); !has {
				k.wrong("dataset.weights.column", "take it from the table that has it: join: {TABLE: ["+w.Column+"]} in "+name+
					"; or say weights: none in its releases", "%s is not a column of table %s", problem.Shown(w.Column), name)
				continue
			}
			k.as(k.j.Of(name)).weights("dataset.weights", w)
		}
	}
}
