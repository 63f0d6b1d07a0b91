package lang

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// Limits bound what one text may cost.
type Limits struct {
	Bytes    int // of the text
	Marks    int // commas, colons and line ends, and so the values
	Expanded int // how many values aliases may add to those that are written
	Problems int // of one text that are told; 0 stands for all
}

// Reader reads one text. It keeps where each value stands, every problem so far, and
// how many more values may be read.
type Reader struct {
	File string
	Words
	Limits
	Problems problem.Problems
	// Places holds the place of each value that was opened, by its path.
	Places map[string]problem.Pos
	// Replace, unless nil, is called for each scalar value that is opened. It may put
	// another node in its place. It returns false where it has recorded a problem.
	Replace func(p *Place) bool

	left  int // values that may still be read
	spent bool
}

// Words are the words that messages use for a language and its texts.
type Words struct {
	Language string // "the job language"
	What     string // "a job file"
	Holds    string // "job": what one text holds
	Start    string // what to do about an empty text
	Advice   string // what to do about one that is too large
	// Keys are those of the mapping that a text is. A text with hardly one of them is
	// another file, perhaps one with private rows, and no problem quotes it. // P33
	Keys []string
	// Telling are keys of which every text of the language has one, at least nearly; nil for
	// any. A text with none of them is another file, though all of its keys be known ones.
	Telling []string
}

// NewReader returns a reader of one text. file is its name, for messages.
func NewReader(file string, w Words, l Limits) *Reader {
	return &Reader{File: file, Words: w, Limits: l, Places: map[string]problem.Pos{}}
}

// Place is a value on its way in: its path, the node whose position problems are told
// at, and the node of the value.
type Place struct {
	Path     string
	At, Node *yaml.Node
}

// Position returns the place of a node in its file.
func (r *Reader) Position(n *yaml.Node) problem.Pos {
	if n == nil {
		return problem.Pos{File: r.File}
	}
	return problem.Pos{File: r.File, Line: max(n.Line, 1), Column: max(n.Column, 1)}
}

// Full reports whether the limit of problems is reached, so that no more are told.
func (r *Reader) Full() bool { return r.Limits.Problems > 0 && len(r.Problems) >= r.Limits.Problems }

// Wrong records a problem at a place. It returns false, for a reader to return.
func (r *Reader) Wrong(p Place, hint, format string, args ...any) bool {
	return r.WrongAt(r.Position(p.At), p.Path, hint, format, args...)
}

// WrongAt records a problem at a position and returns false.
func (r *Reader) WrongAt(at problem.Pos, path, hint, format string, args ...any) bool {
	if !r.Full() {
		r.Problems = append(r.Problems, problem.Problem{Pos: at, Step: problem.StepLoad,
			Path:    address.Hide(problem.Shorten(path, 3*problem.MaxShown)),
			Message: address.Hide(fmt.Sprintf(format, args...)), Hint: address.Hide(hint)})
	}
	return false
}

// Note counts a value and notes its position, without a look at what it is. It is false
// where the text has used up its values.
func (r *Reader) Note(p Place) bool {
	if r.spent {
		return false
	}
	if r.left--; r.left < 0 {
		r.spent = true
		return r.Wrong(p, "write the values out, or share less", "the aliases of this file expand to more than %d values", r.Expanded)
	}
	r.Places[p.Path] = r.Position(p.At)
	return true
}

// maxHops bounds the aliases of aliases.
const maxHops = 64

// Open follows an alias, notes the position, and refuses what no value may be. The
// bound on values makes exploding and circular aliases harmless.
func (r *Reader) Open(p *Place) bool {
	if !r.Note(*p) {
		return false
	}
	for hops := 0; p.Node.Kind == yaml.AliasNode && p.Node.Alias != nil; hops++ {
		if hops > maxHops {
			return r.Wrong(*p, "", "is an alias of itself")
		}
		p.Node = p.Node.Alias
	}
	switch {
	case p.Node.Kind == 0:
		return r.Wrong(*p, "", "has no value")
	case p.Node.Style&yaml.TaggedStyle != 0:
		return r.Wrong(*p, "leave the tag out", "has a YAML tag, which %s does not use", r.Language)
	case p.Node.Tag == "!!null":
		return r.Wrong(*p, "say a value, or leave the key out", "has no value")
	}
	return r.Replace == nil || p.Node.Kind != yaml.ScalarNode || r.Replace(p)
}

// IsNull reports whether nothing, or null, is written at p.
func (p Place) IsNull() bool {
	return p.Node.Kind == yaml.ScalarNode && p.Node.Tag == "!!null" && p.Node.Style&yaml.TaggedStyle == 0
}

// Pairs takes a mapping apart: each place has the key as At and the value as Node.
// Keys must be plain texts, and no key may come twice.
func (r *Reader) Pairs(p Place) ([]Place, bool) {
	if p.Node.Kind != yaml.MappingNode {
		r.Wrong(p, "", "must be a mapping, not %s", ShapeOf(p.Node))
		return nil, false
	}
	out := make([]Place, 0, len(p.Node.Content)/2)
	first := make(map[string]int, len(p.Node.Content)/2)
	ok := true
	for i := 0; i+1 < len(p.Node.Content); i += 2 {
		k, v := p.Node.Content[i], p.Node.Content[i+1]
		kv := Place{Path: p.Path, At: k, Node: v}
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!null" || k.Value == "":
			r.Wrong(kv, "", "has a key that is not a text")
			ok = false
			continue
		case k.Tag == "!!merge":
			r.Wrong(kv, "write the keys out", "merge keys (<<) are not part of %s", r.Language)
			ok = false
			continue
		}
		kv.Path = problem.Key(p.Path, k.Value)
		if line, twice := first[k.Value]; twice {
			r.Wrong(kv, "", "is given twice (first in line %d)", line)
			ok = false
			continue
		}
		first[k.Value] = k.Line
		out = append(out, kv)
	}
	return out, ok || len(out) > 0
}

// ShapeOf names a value that is not what was asked for.
func ShapeOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return problem.Shown(n.Value)
}
