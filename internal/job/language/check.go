package language

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// checker collects what is wrong with the meaning of a job.
type checker struct {
	j     *job.Job
	told  job.Problems // by reading the file
	found *job.Problems
}

// as checks the job as a table sees it.
func (k *checker) as(view *job.Job) *checker { return &checker{view, k.told, k.found} }

func (k *checker) wrong(path, hint, format string, args ...any) {
	*k.found = append(*k.found, k.j.Problem(path, fmt.Sprintf(format, args...), hint))
}

// refuse finds keys of a mapping that the job has and must not have there.
func (k *checker) refuse(path string, keys []string, hint, format string, args ...any) {
	for _, key := range keys {
		if at := job.Key(path, key); k.j.Has(at) {
			k.wrong(at, hint, format, args...)
		}
	}
}

// check finds what is wrong with the meaning of a job, without a plugin and
// without data. A key that could not be read is zero; it has its problem
// already, and what depends on it is left unsaid.
func check(j *job.Job, o Options, told job.Problems) job.Problems {
	k := &checker{j, told, &job.Problems{}}
	k.dataset()
	k.unit()
	k.tables()
	k.levels()
	first := k.as(j.First()) // designs draw units by the columns of the population
	for i := range j.Samples {
		first.sample(&j.Samples[i])
	}
	k.names("samples", len(j.Samples), func(i int) (string, string) {
		return j.Samples[i].Name, job.Key("samples", j.Samples[i].Name)
	})
	k.names("plugins", len(j.Plugins), func(i int) (string, string) {
		return j.Plugins[i].Name, job.Key("plugins", j.Plugins[i].Name)
	})
	k.grants()
	k.releases()
	k.series()
	k.weightsOfTables()
	k.askedOfTables()
	k.spend()
	k.together()
	k.rho()
	if o.Mechanisms != nil {
		k.mechanisms(o.Mechanisms, nil)
	}
	return *k.found
}

// oneTable checks a data set that is one table.
func (k *checker) oneTable() {
	for _, key := range []string{"source", "columns"} {
		if at := "dataset." + key; !k.j.Has(at) && k.j.Has("dataset") && !k.toldOf(at) {
			k.wrong(at, "", "is missing")
		}
	}
	k.source()
	k.lookups()
	k.fileColumns()
	k.derived()
	k.columns()
	k.units()
	if w := k.j.Dataset.Weights; w != nil {
		k.weights("dataset.weights", w)
	}
}

// names finds names that only differ in case: their files would be one file on
// some systems.
func (k *checker) names(what string, n int, at func(i int) (name, path string)) {
	first := make(map[string]int, n)
	for i := range n {
		name, path := at(i)
		if name == "" {
			continue
		}
		folded := strings.ToLower(name)
		if f, twice := first[folded]; twice {
			other, at := at(f)
			if other == name {
				k.wrong(path, "", "%s is the name of two %s (first in line %d)", problem.Shown(name), what, k.j.Pos(at).Line)
			} else {
				k.wrong(path, "some file systems do not tell the two apart", "differs from %s only in case", problem.Shown(other))
			}
			continue
		}
		first[folded] = i
	}
}

// CheckMechanisms finds releases whose mechanism is neither built in nor a
// plugin of the job, and plugins that have the name of a built-in mechanism. Parse
// does this itself where Options.Mechanisms says what is built in. Other are other words for
// mechanisms, for hints.
func CheckMechanisms(j *job.Job, builtins []string, other map[string][]string) job.Problems {
	k := &checker{j: j, found: &job.Problems{}}
	k.mechanisms(builtins, other)
	return k.found.Sort()
}

func (k *checker) mechanisms(builtins []string, other map[string][]string) {
	known, isBuiltin := slices.Clone(builtins), setOf(builtins)
	for _, p := range k.j.Plugins {
		if isBuiltin[p.Name] {
			k.wrong(job.Key("plugins", p.Name), "give it another name", "%s is a built-in mechanism", p.Name)
		}
		known = append(known, p.Name)
	}
	isKnown := setOf(known)
	for i, r := range k.j.Releases {
		if r.Mechanism != "" && r.Bounds == "" && !isKnown[r.Mechanism] && !strings.Contains(r.Mechanism, "@") { // the catalog is asked for those
			k.wrong(job.Key(job.Item("releases", i), "mechanism"), hintOr(meantMechanism(r.Mechanism, known, other), "known mechanisms", known),
				"%s is neither a built-in mechanism nor a plugin of this job", problem.Shown(r.Mechanism))
		}
	}
}

// meantMechanism is the hint for a word that is no mechanism: the known one that has it among its
// other words, or the nearest name.
func meantMechanism(word string, known []string, other map[string][]string) string {
	plain := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
	for _, name := range known {
		if slices.Contains(other[name], plain) {
			return "did you mean " + name + "?"
		}
	}
	return problem.DidYouMean(word, known)
}

func (k *checker) releases() {
	from := []string{job.All}
	for _, s := range k.j.Samples {
		if s.Name != job.All {
			from = append(from, s.Name)
		}
	}
	isFrom := setOf(from)
	for i := range k.j.Releases {
		r := &k.j.Releases[i]
		if k.tableOf(i, r) {
			k.as(k.j.Of(r.Table)).rowsOf(i, r)
		}
		if r.From != "" && !isFrom[r.From] {
			k.wrong(job.Key(job.Item("releases", i), "from"), hintOr(problem.DidYouMean(r.From, from), "known samples", from),
				"%s is not a sample", problem.Shown(r.From))
		}
	}
	k.names("releases", len(k.j.Releases), func(i int) (string, string) {
		return k.j.Releases[i].Name, job.Key(job.Item("releases", i), "name")
	})
}

func setOf(words []string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, w := range words {
		out[w] = true
	}
	return out
}

// hintOr is a hint, or the list of what is known where that is short.
func hintOr(hint, label string, known []string) string {
	if hint != "" || len(known) == 0 || len(known) > 12 {
		return hint
	}
	return label + ": " + strings.Join(known, ", ")
}

func (k *checker) dataset() {
	d := &k.j.Dataset
	if d.Relation == privacy.ReplaceOne && !k.j.Has("dataset.size") {
		k.wrong("dataset.size", "the number of units is public under replace-one", "is missing")
	}
	if d.Collected != nil {
		k.collected(d.Collected)
	}
	if d.Slice != nil && d.Slice.Is == "" && k.j.Has("dataset.slice.is") {
		k.wrong("dataset.slice.is", "", "must not be empty")
	}
}

// unit settles what a unit is called: by its key, or by unit_name, which nothing
// checks.
func (k *checker) unit() {
	d := &k.j.Dataset
	switch {
	case d.Key.Column != "" && d.Called.Name != "":
		k.wrong("dataset.unit_name", "leave it out", "repeats unit.name")
	case d.Key.Column != "":
		d.Called = d.Key.UnitWords
	}
}

// fileColumns settles what the columns of the file and of lookups hold, which expressions
// need to know.
func (k *checker) fileColumns() {
	for i := range k.j.Dataset.Columns {
		c := &k.j.Dataset.Columns[i]
		if c.Type = c.Holds; c.Type == "" && (c.Domain != nil || k.j.Has(job.Key(c.Path(), "domain"))) {
			c.Type = job.Category
		} else if c.Type == "" {
			c.Type = job.Number
		}
	}
}

func (k *checker) columns() {
	for i := range k.j.Dataset.Columns {
		k.column(&k.j.Dataset.Columns[i])
	}
}

// column infers what a column holds and checks its bounds or its domain.
func (k *checker) column(c *job.Column) {
	path := c.Path()
	if c.Derived != nil && c.Derived.Bins.Column != "" || c.Joined != nil && c.Domain != nil {
		c.Type = job.Category
		return
	}
	lower, upper := k.j.Has(job.Key(path, "lower")), k.j.Has(job.Key(path, "upper"))
	domain := k.j.Has(job.Key(path, "domain"))
	switch {
	case c.Bounds != nil:
		k.bounds(path, c)
		return
	case c.Holds != "" && (domain || lower || upper) && c.Derived == nil:
		k.wrong(job.Key(path, "type"), "leave it out", "repeats what the bounds or the domain say")
	case c.Holds != "" && !domain && !lower && !upper:
		c.Type = c.Holds
		return
	case c.Derived != nil && !lower && !upper && !domain && c.Domain != nil: // a condition
		c.Type = job.Category
		return
	case domain && (lower || upper):
		k.wrong(path, "a number has lower and upper, a category has domain", "has bounds and a domain")
		return
	case domain:
		c.Type = job.Category
		k.category(path, c)
	case lower && upper:
		c.Type = job.Number
		k.number(path, c)
	case lower:
		k.wrong(job.Key(path, "upper"), "a number needs both bounds", "is missing")
	case upper:
		k.wrong(job.Key(path, "lower"), "a number needs both bounds", "is missing")
	default:
		k.wrong(path, "say lower and upper for a number, domain for a category, or type for a column that only expressions read",
			"has neither bounds nor a domain")
	}
	k.assume(path, c)
}

// farthest is the largest bound of a number, and its inverse the smallest distance
// between two: mechanisms multiply and divide them, in float64.
const farthest = 1e150

// apart checks that there are numbers between the bounds that float64 can tell from
// them, and arithmetic that does not overflow.
func (k *checker) apart(path string, c *job.Column) {
	low, high := rational.Up(c.Lower), rational.Down(c.Upper)
	switch {
	case low < -farthest:
		k.wrong(job.Key(path, "lower"), "", "must be at least -1e150")
	case high > farthest:
		k.wrong(job.Key(path, "upper"), "", "must be at most 1e150")
	case !(high-low >= 1/farthest):
		k.wrong(job.Key(path, "lower"), "numbers are float64: take bounds that are further apart, or subtract a constant from the column",
			"is too close to upper (%s, %s)", rational.Format(c.Lower), rational.Format(c.Upper))
	}
}

func (k *checker) number(path string, c *job.Column) {
	if c.Lower != nil && c.Upper != nil && c.Lower.Cmp(c.Upper) >= 0 {
		k.wrong(job.Key(path, "lower"), "", "must be less than upper (%s >= %s)", rational.Format(c.Lower), rational.Format(c.Upper))
	} else if c.Lower != nil && c.Upper != nil {
		k.apart(path, c)
	}
	k.refuse(path, []string{"outside"}, "leave it out: numbers are clipped to their bounds", "is for categories")
	k.refuse(path, []string{"immutable"}, "", "is for categories")
	if c.Missing.Rule != job.Impute {
		return
	}
	at := job.Key(path, "missing")
	n, err := ParseAmount(c.Missing.Text)
	if err != nil {
		k.wrong(at, "", "%s", err)
		return
	}
	if c.Lower != nil && n.Cmp(c.Lower) < 0 || c.Upper != nil && n.Cmp(c.Upper) > 0 {
		k.wrong(at, "", "must impute a value between lower and upper, not %s", rational.Format(n))
		return
	}
	c.Missing.Number, c.Missing.Text = n, ""
}

func (k *checker) category(path string, c *job.Column) {
	for _, h := range []struct {
		key string
		job.Handling
	}{{"missing", c.Missing}, {"outside", c.Outside}} {
		if h.Rule == job.Impute && c.Domain != nil && !slices.Contains(c.Domain, h.Text) {
			k.wrong(job.Key(path, h.key), problem.DidYouMean(h.Text, c.Domain), "must impute a value of the domain, not %s", problem.Shown(h.Text))
		}
	}
}
