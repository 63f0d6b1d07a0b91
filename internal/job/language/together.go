package language

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// A capability is something that a job may have and that does not go with everything else. Each is declared once.
type capability struct {
	name   string // as messages and docs/what-goes-together.md have it
	key    string // the key where it is said, below that of its bearer
	has    func(b *bearer) bool
	schema schema // matches jobs that have it, nil where a schema cannot tell
	of     level
}

// level names the kind of thing that bears a capability.
type level int

const (
	ofJob level = iota
	ofTable
	ofColumn
	ofSample
	ofRelease
)

// bearer holds the part of a job in which a capability is looked for. A table, a column and a release see the job as their table does.
type bearer struct {
	j    *job.Job
	d    *job.Dataset
	c    *job.Column
	s    *job.Sample
	r    *job.Release
	path string
}

// said reports whether the file has a key of the bearer.
func (b *bearer) said(key string) bool { return b.j.Has(b.at(key)) }

func (b *bearer) at(key string) string {
	switch {
	case b.path == "":
		return key
	case key == "":
		return b.path
	}
	return b.path + "." + key
}

// An apart is a row of the table of what does not go together: nothing of what goes with anything of with.
type apart struct {
	what, with   []*capability
	without      bool // what does not go without them
	at           string
	why, instead string
}

// refuses makes a row of things that do not go together.
func refuses(what, with capabilities, why, instead string) apart {
	return apart{what: what.all(), with: with.all(), why: why, instead: instead}
}

// needs makes a row of things that do not go without others.
func needs(what, with capabilities, why, instead string) apart {
	return apart{what: what.all(), with: with.all(), without: true, why: why, instead: instead}
}

// told is the row, with another key at which it is told.
func (a apart) told(at string) apart {
	a.at = at
	return a
}

// sentence returns what a row tells the reader, without the name of what where the place says it already.
func (a *apart) sentence(what, with *capability, place string) string {
	goes := "does not go with "
	if a.without {
		goes = "does not go without "
	}
	text := goes + with.name + ": " + a.why
	if place == what.name || strings.HasSuffix(place, "."+what.name) {
		return text
	}
	return strings.TrimPrefix(what.name, place[strings.LastIndex(place, ".")+1:]+": ") + " " + text
}

// bearers lists what may bear a capability of a level.
func bearers(j *job.Job, of level) (all []bearer) {
	switch of {
	case ofJob:
		return []bearer{{j: j, d: &j.Dataset}}
	case ofTable, ofColumn:
		for _, name := range j.TableNames() {
			view := j.Of(name)
			b := bearer{j: view, d: &view.Dataset}
			for i := range view.Dataset.Columns {
				if b.c = &view.Dataset.Columns[i]; of == ofColumn {
					b.path = b.c.Path()
					all = append(all, b)
				}
			}
			if of == ofTable {
				all = append(all, b)
			}
		}
	case ofSample:
		for i := range j.Samples {
			all = append(all, bearer{j: j, d: &j.Dataset, s: &j.Samples[i], path: job.Key("samples", j.Samples[i].Name)})
		}
	case ofRelease:
		for i := range j.Releases {
			view := j.Of(j.Releases[i].Table)
			all = append(all, bearer{j: view, d: &view.Dataset, r: &j.Releases[i], path: j.ReleasePath(i)})
		}
	}
	return all
}

// beside reports whether a capability stands beside what a bearer has: in the bearer itself, in its table, or anywhere in
// the job.
func beside(j *job.Job, b *bearer, of level, other *capability) bool {
	switch {
	case other.of == of, other.of == ofTable && (of == ofColumn || of == ofRelease):
		return other.has(b)
	}
	return slices.ContainsFunc(bearers(j, other.of), func(b bearer) bool { return other.has(&b) })
}

// together refuses what does not go together. One sentence about a place is enough for each row.
func (k *checker) together() {
	for i := range notTogether {
		row := &notTogether[i]
		for _, what := range row.what {
			for _, b := range bearers(k.j, what.of) {
				if !what.has(&b) {
					continue
				}
				place := b.at(cmp.Or(row.at, what.key))
				if what.of == ofTable || what.of == ofColumn {
					place = b.j.Path(place)
				}
				is := slices.IndexFunc(row.with, func(with *capability) bool {
					return beside(k.j, &b, what.of, with) != row.without && !(row.without && k.unread(with.key))
				})
				if is >= 0 && !k.unread(place) {
					k.wrong(place, row.instead, "%s", row.sentence(what, row.with[is], place))
				}
			}
		}
	}
}

// keyed makes a capability of a job that is a key of the file.
func keyed(path string) *capability {
	return &capability{name: path, key: path, schema: hasKey(strings.Split(path, ".")), has: func(b *bearer) bool { return b.j.Has(path) }}
}

func bears(of level, name, key string, has func(b *bearer) bool) *capability {
	return &capability{name: name, key: key, of: of, has: has}
}

// item makes a capability that is a key of a table, a column, a sample or a release.
func keyOf(of level, key string) *capability {
	return bears(of, key, key, func(b *bearer) bool { return b.said(key) })
}

func wholeJob(name, key string, has func(b *bearer) bool) *capability {
	return bears(ofJob, name, key, has)
}

// hasKey matches a mapping that has a key, by the path to it.
func hasKey(path []string) schema {
	s := schema{"type": "object", "required": path[:1]}
	if len(path) > 1 {
		s["properties"] = schema{path[0]: hasKey(path[1:])}
	}
	return s
}

func related(r privacy.Relation) *capability {
	c := wholeJob("relation: "+r.String(), "dataset.relation", func(b *bearer) bool { return b.d.Relation == r })
	c.schema = schema{"type": "object", "required": []string{"dataset"}, "properties": schema{"dataset": schema{
		"type": "object", "required": []string{"relation"}, "properties": schema{"relation": schema{"const": r.String()}}}}}
	return c
}
