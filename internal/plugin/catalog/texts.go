package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Texts are the words of plans that reach a report: the names of columns, and the remarks.
// A word that a plan took from its own request is replaced by the kind of thing it is. The
// words of a plugin are then a fixed list, whatever it is asked. A text that was the same in all
// requests may be the author's own, such as "where the line meets x = 0": it is on the list too.
type Texts struct{ names, texts list }

// list has each text as it was said, by the one with words replaced; "" where different ones were said.
type list map[string]string

func (l list) add(fixed, said string) {
	if before, ok := l[fixed]; ok && before != said {
		said = ""
	}
	l[fixed] = said
}

func (l list) has(text string) bool { _, ok := l[text]; return ok }

// all are the texts of the list, in order.
func (l list) all() []string {
	out := slices.Collect(maps.Keys(l))
	out = slices.AppendSeq(out, maps.Values(l))
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}

// NewTexts is a list that was kept.
func NewTexts(names, texts []string) *Texts {
	t := &Texts{names: list{}, texts: list{}}
	for _, n := range names {
		t.names.add(n, n)
	}
	for _, s := range texts {
		t.texts.add(s, s)
	}
	return t
}

// Add adds the words of a plan.
func (t *Texts) Add(req sdk.PlanRequest, plan sdk.Plan) {
	v := vocabulary(req)
	for _, name := range namesOf(&plan) {
		t.names.add(v.fixed(*name), *name)
	}
	for _, text := range textsOf(&plan) {
		t.texts.add(v.fixed(*text), *text)
	}
}

// Names and Remarks are the list, in order.
func (t *Texts) Names() []string   { return t.names.all() }
func (t *Texts) Remarks() []string { return t.texts.all() }

// Hold takes every remark out of a plan that is not on the list, and returns the name of a
// column that is not, or "".
func (t *Texts) Hold(req sdk.PlanRequest, plan *sdk.Plan) (unknown string) {
	v := vocabulary(req)
	for _, name := range namesOf(plan) {
		if *name != "" && !t.names.has(v.fixed(*name)) && !t.names.has(*name) {
			return *name
		}
	}
	// The plan may be held elsewhere too: what changes is a copy.
	plan.Output, plan.Errors = slices.Clone(plan.Output), slices.Clone(plan.Errors)
	for _, text := range textsOf(plan) {
		if !t.texts.has(v.fixed(*text)) && !t.texts.has(*text) {
			*text = ""
		}
	}
	return ""
}

func namesOf(p *sdk.Plan) []*string {
	var out []*string
	for i := range p.Output {
		out = append(out, &p.Output[i].Name)
		for k := range p.Output[i].Texts {
			out = append(out, &p.Output[i].Texts[k])
		}
	}
	for i := range p.Errors {
		out = append(out, &p.Errors[i].Field)
	}
	return out
}

func textsOf(p *sdk.Plan) []*string {
	var out []*string
	for i := range p.Output {
		out = append(out, &p.Output[i].Doc)
	}
	for i := range p.Errors {
		out = append(out, &p.Errors[i].Note, &p.Errors[i].SamplingNote)
	}
	return out
}

// words are public words of a request and what they are called.
type words []struct{ word, kind string }

func (w *words) add(kind string, all ...string) {
	for _, word := range all {
		if word != "" {
			*w = append(*w, struct{ word, kind string }{word, kind})
		}
	}
}

func (w *words) number(all ...float64) {
	for _, x := range all {
		w.add("{number}", strconv.FormatFloat(x, 'g', -1, 64))
	}
}

// vocabulary are all words of a request, the longest first.
func vocabulary(req sdk.PlanRequest) words {
	var w words
	for _, c := range req.Public.Columns {
		w.add("{column}", c.Name)
		w.number(c.Lower, c.Upper)
		w.add("{category}", c.Domain...)
	}
	w.number(req.Target.Epsilon, req.Target.Delta, float64(req.Public.Population), float64(req.Public.Design.SampleSize))
	var params any
	if json.Unmarshal(req.Params, &params) == nil {
		w.params(params)
	}
	slices.SortStableFunc(w, func(a, b struct{ word, kind string }) int {
		return cmp.Or(cmp.Compare(len(b.word), len(a.word)), strings.Compare(a.word, b.word))
	})
	return w
}

// params adds what a job says in the parameters of a release.
func (w *words) params(v any) {
	switch v := v.(type) {
	case string:
		w.add("{parameter}", v)
	case float64:
		w.number(v)
	case []any:
		for _, x := range v {
			w.params(x)
		}
	case map[string]any:
		for _, x := range v {
			w.params(x)
		}
	}
}

// part is a word or a number, as people tell them apart.
var part = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN_.+-]*[\pL\pN_]`) })

// fixed is a text with the words of the request replaced.
func (w words) fixed(text string) string {
	if text == "" {
		return ""
	}
	for _, x := range w { // a text that is one of them, or a word of several parts
		if x.word == text {
			return x.kind
		}
	}
	return part().ReplaceAllStringFunc(text, func(s string) string {
		for _, x := range w {
			if x.word == s {
				return x.kind
			}
		}
		return s
	})
}
