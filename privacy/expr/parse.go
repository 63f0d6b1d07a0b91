package expr

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy"
)

// Limits on a text. An expression that a person writes is far below all of them; they
// keep a hostile one from costing more than its first mebibyte.
const (
	// MaxBytes is the size of the largest text.
	MaxBytes = 1 << 20
	// MaxDepth is the number of events that may stand inside one another.
	MaxDepth = privacy.MaxDepth
	// MaxEvents is the number of events that one expression may hold. Equal events are written as
	// repeat.
	MaxEvents = 10_000

	// maxProblems is the number of problems of one text that are reported. A text with more is
	// most likely no expression.
	maxProblems = 50
)

// The places and problems of an expression are those of package lang.
type (
	Pos      = problem.Pos
	Problem  = problem.Problem
	Problems = problem.Problems
)

// Parse reads an event written in YAML or JSON. Problems name the file.
func Parse(text []byte, file string) (privacy.Event, Problems) {
	p := newParser(file)
	root := p.Document(text)
	if root == nil {
		return nil, p.told()
	}
	e := p.event(lang.Place{At: root, Node: root}, nil)
	p.validate(e, "")
	if len(p.Problems) > 0 {
		return nil, p.told()
	}
	return e, nil
}

// parser turns a tree into events and collects every problem on the way.
type parser struct {
	*lang.Reader
	events     int         // read so far
	depth      int         // of the event being read
	candidates []candidate // the fields that could be calibrated
	misfits    []misfit    // fields that do not fit together
}

// kinds, and their names in the order of the specification.
var (
	kinds     = map[string]*privacy.Kind{}
	kindNames = func() (names []string) {
		for _, k := range privacy.Kinds() {
			names, kinds[k.Name] = append(names, k.Name), k
		}
		return names
	}()
)

// misfit says that fields of the event at a path do not fit together.
type misfit struct {
	event string
	Problem
}

func newParser(file string) *parser {
	return &parser{Reader: lang.NewReader(file, lang.Words{
		Language: "this language", What: "a question", Holds: "question",
		Start: "write relation, event and query", Advice: "write equal events as repeat",
	}, lang.Limits{Bytes: MaxBytes, Marks: 250_000, Expanded: 100_000, Problems: maxProblems})}
}

// told returns all problems in the order of the text.
func (p *parser) told() Problems {
	for i := range p.Problems {
		if p.Problems[i].Line == 0 {
			p.Problems[i].Line, p.Problems[i].Column = 1, 1
		}
	}
	return p.Problems.Sort()
}

// kind reads the one key of an event, and returns no kind after a problem.
func (p *parser) kind(at lang.Place) (kv lang.Place, k *privacy.Kind) {
	const hint = "such as {gaussian: {sigma: 1}}"
	if !p.Open(&at) {
		return kv, nil
	}
	switch {
	case at.Node.Kind == yaml.SequenceNode:
		p.Wrong(at, "write compose: [...]", "an event must be a mapping, not a list")
		return kv, nil
	case at.Node.Kind == yaml.ScalarNode && kinds[at.Node.Value] != nil:
		p.Wrong(at, hint, "the event %s has no fields", at.Node.Value)
		return kv, nil
	case at.Node.Kind != yaml.MappingNode || len(at.Node.Content) == 0:
		p.Wrong(at, hint, "an event must be a mapping with one key, its kind")
		return kv, nil
	}
	pairs, ok := p.Pairs(at)
	if !ok || len(pairs) == 0 {
		return kv, nil
	}
	if len(pairs) > 1 {
		var names []string
		for _, kv := range pairs[:min(len(pairs), 6)] {
			names = append(names, problem.Key("", kv.At.Value))
		}
		p.Wrong(lang.Place{Path: at.Path, At: pairs[1].At}, "several events are written compose: [...]; fields belong inside the kind",
			"an event has exactly one key, its kind, and not %d: %s", len(pairs), strings.Join(names, ", "))
		return kv, nil
	}
	kv = pairs[0]
	if k = kinds[kv.At.Value]; k == nil {
		also := map[string]string{}
		for _, k := range privacy.Kinds() {
			for _, name := range k.Also {
				also[name] = k.Name
			}
		}
		p.Wrong(kv, hintFor(kv.At.Value, "known events", kindNames, also), "unknown event")
	}
	return kv, k
}

// event reads {kind: fields}. trail is its place in the expression. After a
// problem the result may be incomplete, and nobody uses it.
func (p *parser) event(at lang.Place, trail []int) privacy.Event {
	if p.Full() {
		return nil
	}
	if p.events++; p.events > MaxEvents {
		if p.events == MaxEvents+1 {
			p.Wrong(at, "write equal events as repeat", "more than %d events in one expression", MaxEvents)
		}
		return nil
	}
	if p.depth++; p.depth > MaxDepth {
		p.Wrong(at, "", "nested too deeply: at most %d events may stand inside one another", MaxDepth)
		return nil
	}
	defer func() { p.depth-- }()
	kv, k := p.kind(at)
	if k == nil {
		return nil
	}
	value := lang.Place{Path: kv.Path, At: kv.Node, Node: kv.Node}
	if value.IsNull() {
		p.Wrong(value, "", "has no fields")
		return nil
	}
	out := k.New()
	before := len(p.Problems)
	// The place of an event is that of its kind, and not that of its first field.
	if k.Fields[0].Name == "" {
		p.value(&k.Fields[0], value, out, trail)
		p.Places[kv.Path] = p.Position(kv.At)
		return out.Interface().(privacy.Event)
	}
	f := p.open(value, "")
	p.Places[kv.Path] = p.Position(kv.At)
	for i := range k.Fields {
		p.field(f, &k.Fields[i], out, trail)
		if f.unknown {
			return nil
		}
	}
	e := out.Interface().(privacy.Event)
	if len(p.Problems) == before {
		k.Check(e, func(field, format string, args ...any) {
			path := value.Path + "." + field
			pos, _ := problem.Nearest(p.Places, path)
			p.misfits = append(p.misfits, misfit{value.Path, Problem{Pos: pos, Path: path, Message: fmt.Sprintf(format, args...)}})
		})
	}
	f.done()
	return e
}

// field reads one field of an event or a record into its place.
func (p *parser) field(f *fields, d *privacy.Field, into reflect.Value, trail []int) {
	if !f.ok {
		return
	}
	owner, _ := into.Interface().(privacy.Event)
	need := d.Need(owner)
	if need == privacy.Unused {
		return
	}
	f.also(d.Name, d.Also...)
	at, ok := f.take(d.Name)
	if d.Search != nil && owner != nil {
		p.candidates = append(p.candidates, newCandidate(privacy.Name(owner), d, f.at.Path, trail, !ok))
	}
	switch {
	case ok:
		if !p.value(d, at, into, trail) && d.Words != nil {
			// The word decides which other fields belong, so complaints about them would mislead.
			f.unknown = true
		}
	case need == privacy.Required:
		p.Wrong(lang.Place{Path: problem.Key(f.at.Path, d.Name), At: f.at.At}, d.Example, "is missing")
	}
}

// value reads one value into a field of the record into.
func (p *parser) value(d *privacy.Field, at lang.Place, into reflect.Value, trail []int) bool {
	if !p.Open(&at) {
		return false
	}
	v := d.In(into)
	switch d.Shape {
	case privacy.Number:
		x, ok := p.number(at, d.Wrong)
		v.SetFloat(x)
		return ok
	case privacy.Whole:
		n, ok := p.whole(at, d.Wrong)
		v.SetInt(n)
		return ok
	case privacy.Word:
		if at.Node.Kind != yaml.ScalarNode || !slices.Contains(d.Words, at.Node.Value) {
			p.Wrong(at, problem.DidYouMean(at.Node.Value, d.Words), "must be one of %s", strings.Join(d.Words, ", "))
			return false
		}
		v.SetString(at.Node.Value)
	case privacy.Flag:
		if at.Node.Kind != yaml.ScalarNode || at.Node.Tag != "!!bool" {
			p.Wrong(at, d.Example, "must be true or false")
			return false
		}
		v.SetBool(strings.EqualFold(at.Node.Value, "true"))
	case privacy.Record:
		if at.Node.Kind == yaml.ScalarNode {
			// A bare sensitivity is refused even if the relation is known: half of the
			// literature means one relation and half the other, a factor of 2 apart.
			x := problem.Shorten(at.Node.Value, 20)
			p.Wrong(at, "write {add-remove: "+x+"} or {replace-one: "+x+"}; where only add-remove is given, replace-one is twice that",
				"must say under which relation")
			return false
		}
		p.record(d, at, v)
	case privacy.Records:
		return p.list(at, d.Example, "at least one", v, func(_ int, item lang.Place, into reflect.Value) {
			if p.Open(&item) {
				p.record(d, item, into)
			}
		})
	case privacy.Wholes:
		return p.list(at, d.Example, "at least one whole number", v, func(_ int, item lang.Place, into reflect.Value) {
			if p.Open(&item) {
				n, _ := p.whole(item, d.Wrong)
				into.SetInt(n)
			}
		})
	case privacy.Inner:
		return p.inner(at, v, append(trail, 0))
	case privacy.Inners:
		return p.list(at, d.Example, "at least one event", v, func(i int, item lang.Place, into reflect.Value) {
			p.inner(item, into, append(trail, i))
		})
	}
	return true
}

func (p *parser) inner(at lang.Place, into reflect.Value, trail []int) bool {
	e := p.event(at, trail[:len(trail):len(trail)])
	if e != nil {
		into.Set(reflect.ValueOf(e))
	}
	return e != nil
}

func (p *parser) record(d *privacy.Field, at lang.Place, into reflect.Value) {
	f := p.open(at, d.Example)
	for i := range d.Fields {
		p.field(f, &d.Fields[i], into, nil)
	}
	f.done()
}

// items returns the elements of a list.
func (p *parser) items(at lang.Place, hint, what string) ([]lang.Place, bool) {
	if at.Node.Kind != yaml.SequenceNode || len(at.Node.Content) == 0 {
		p.Wrong(at, hint, "must be a list of %s", what)
		return nil, false
	}
	out := make([]lang.Place, len(at.Node.Content))
	for i, n := range at.Node.Content {
		out[i] = lang.Place{Path: problem.Item(at.Path, i), At: n, Node: n}
	}
	return out, true
}

// list makes a slice as long as a list, and has read fill its elements.
func (p *parser) list(at lang.Place, hint, what string, into reflect.Value, read func(i int, item lang.Place, into reflect.Value)) bool {
	items, ok := p.items(at, hint, what)
	if ok {
		into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	}
	for i, item := range items {
		read(i, item, into.Index(i))
	}
	return ok
}

// number reads a number and checks it.
func (p *parser) number(at lang.Place, check func(float64) string) (float64, bool) {
	x, wrong := 0.0, "must be a number, not "+lang.ShapeOf(at.Node)
	if isNumeral(at.Node) {
		if x, wrong = parseFloat(at.Node.Value); wrong == "" {
			wrong = check(x)
		}
	}
	if wrong != "" {
		p.Wrong(at, "", "%s", wrong)
		return 0, false
	}
	return x, true
}

// whole reads a whole number and checks it.
func (p *parser) whole(at lang.Place, check func(float64) string) (int64, bool) {
	n, wrong := int64(0), "must be a whole number, not "+lang.ShapeOf(at.Node)
	if isNumeral(at.Node) {
		if n, wrong = parseInt(at.Node.Value); wrong == "" {
			wrong = check(float64(n))
		}
	}
	if wrong != "" {
		p.Wrong(at, "", "%s", wrong)
		return 0, false
	}
	return n, true
}

func isNumeral(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag != "!!bool" }

// validate asks the calculus, so that it cannot refuse the expression later, when
// places are unknown.
func (p *parser) validate(e privacy.Event, root string) {
	for _, m := range p.misfits {
		p.WrongAt(m.Pos, m.Path, "", "%s", m.Message)
	}
	if len(p.Problems) > 0 {
		return
	}
	err := privacy.Validate(e)
	if err == nil {
		return
	}
	path, message := root, err.Error()
	var wrong *privacy.Error
	if errors.As(err, &wrong) {
		path, message = strings.TrimPrefix(root+"."+wrong.Path, "."), wrong.Message
	}
	at, ok := problem.Nearest(p.Places, path)
	if !ok {
		at = Pos{File: p.File, Line: 1, Column: 1}
	}
	p.WrongAt(at, path, "", "%s", message)
}

// fields are the pairs of one mapping. done refuses those that nobody asked for. A
// field that is null counts as absent.
type fields struct {
	p       *parser
	at      lang.Place
	ok      bool // the value is a mapping
	unknown bool // nobody knows which fields belong
	pairs   []lang.Place
	known   []string
	names   map[string]string // other names of the known fields
}

// open takes a mapping apart.
func (p *parser) open(at lang.Place, hint string) *fields {
	f := &fields{p: p, at: at, names: map[string]string{}}
	if p.Open(&f.at) {
		if f.ok = f.at.Node.Kind == yaml.MappingNode; !f.ok {
			p.Wrong(at, hint, "must be a mapping of fields, not %s", lang.ShapeOf(f.at.Node))
			return f
		}
		f.pairs, f.ok = p.Pairs(f.at)
	}
	return f
}

// also adds other names of a known field.
func (f *fields) also(name string, others ...string) {
	for _, other := range others {
		f.names[other] = name
	}
}

// take returns the value of a field. ok is false if it is absent.
func (f *fields) take(name string) (v lang.Place, ok bool) {
	f.known = append(f.known, name)
	for _, kv := range f.pairs {
		if kv.At.Value == name && !kv.IsNull() {
			f.p.Places[kv.Path] = f.p.Position(kv.Node)
			return lang.Place{Path: kv.Path, At: kv.Node, Node: kv.Node}, true
		}
	}
	return lang.Place{}, false
}

// need is take for a required field.
func (f *fields) need(name, hint string) (lang.Place, bool) {
	v, ok := f.take(name)
	if ok = ok && f.p.Open(&v); !ok && f.ok {
		f.p.Wrong(lang.Place{Path: problem.Key(f.at.Path, name), At: f.at.At}, hint, "is missing")
	}
	return v, ok
}

// done refuses every field that nobody asked for.
func (f *fields) done() {
	for _, kv := range f.pairs {
		if f.p.Full() {
			return
		}
		if !slices.Contains(f.known, kv.At.Value) {
			f.p.Wrong(kv, hintFor(kv.At.Value, "known fields", f.known, f.names), "unknown field")
		}
	}
}

// hintFor proposes the known name that the word most likely means, or lists them all.
func hintFor(word, label string, known []string, also map[string]string) string {
	if name := cmp.Or(also[word], also[strings.ToLower(word)]); name != "" {
		return "did you mean " + name + "?"
	}
	if name, value, ok := strings.Cut(word, ":"); ok && slices.Contains(known, name) && value != "" {
		return "YAML needs a space after the colon: " + name + ": " + problem.Shorten(value, 40)
	}
	if hint := problem.DidYouMean(word, known); hint != "" {
		return hint
	}
	return label + ": " + strings.Join(known, ", ")
}
