package language

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy/rational"
)

// schema is a piece of JSON Schema.
type schema = map[string]any

// kind is one declared type of value: how it is read, how it is written in a JSON
// Schema, and how the reference describes it. read stores the value, or records a
// problem and returns false.
type kind[V any] struct {
	label  string
	schema schema
	read   func(c *cursor, p lang.Place, into *V) bool
	nested []Declared // the keys of a mapping, for the reference
	suffix string     // what the reference puts between this key and its nested keys
	// facts returns what a value adds to the digest of a job, nil for nothing. A kind without
	// facts adds its value.
	facts func(v *V) any
}

// isScalar refuses a mapping or a list, and says what was wanted instead.
func (c *cursor) isScalar(p lang.Place, wanted string) bool {
	return p.Node.Kind == yaml.ScalarNode || c.Wrong(p, "", "must be %s, not %s", wanted, lang.ShapeOf(p.Node))
}

// scalar is a kind whose value is one text; parse says what is wrong with it.
func scalar[V any](label string, s schema, parse func(text string) (V, error)) kind[V] {
	what := label
	for _, noun := range []string{"number", "whole number", "duration"} {
		if strings.HasPrefix(label, noun) {
			what = "a " + label
		}
	}
	return kind[V]{label: label, schema: s, read: func(c *cursor, p lang.Place, into *V) bool {
		if !c.isScalar(p, what) || !c.noVariable(p) {
			return false
		}
		v, err := parse(p.Node.Value)
		if err != nil {
			return c.Wrong(p, "", "%s", err)
		}
		*into = v
		return true
	}}
}

// transform reads another kind and turns its value into this one.
func transform[A, B any](k kind[A], f func(A) (B, error)) kind[B] {
	return kind[B]{label: k.label, schema: k.schema, nested: k.nested, suffix: k.suffix,
		read: func(c *cursor, p lang.Place, into *B) bool {
			var a A
			if !k.read(c, p, &a) {
				return false
			}
			b, err := f(a)
			if err != nil {
				return c.Wrong(p, "", "%s", err)
			}
			*into = b
			return true
		}}
}

// optional is a mapping that may be absent.
func optional[V any](k kind[V]) kind[*V] {
	out := transform(k, func(v V) (*V, error) { return &v, nil })
	out.facts = func(v **V) any {
		if *v == nil {
			return nil
		}
		return orEmpty(k.fact(*v))
	}
	return out
}

// text is any text. Numbers and booleans must be quoted.
func text() kind[string] {
	k := scalar("text", anyText, checkText)
	read := k.read
	k.read = func(c *cursor, p lang.Place, into *string) bool {
		switch p.Node.Tag {
		case "!!int", "!!float", "!!bool":
			return c.Wrong(p, "put it in quotes", "must be text, not %s", problem.Shown(p.Node.Value))
		}
		return read(c, p, into)
	}
	return k
}

// maxText is the longest text, in characters.
const maxText = 4096

var anyText = schema{"type": "string", "minLength": 1, "maxLength": maxText}

func checkText(s string) (string, error) {
	switch {
	case s == "":
		return "", fmt.Errorf("must not be empty")
	case len([]rune(s)) > maxText:
		return "", fmt.Errorf("must be at most %d characters long", maxText)
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("must not hold control characters")
	}
	return s, nil
}

// value is one value of a column of categories: the literal text, quoted or not.
// ${…} has no meaning in it.
func value() kind[string] {
	return kind[string]{label: "value", schema: schema{"type": []string{"string", "number", "boolean"}},
		read: func(c *cursor, p lang.Place, into *string) bool {
			if !c.isScalar(p, "one value") {
				return false
			}
			if *into = p.Node.Value; len([]rune(*into)) > maxText {
				return c.Wrong(p, "", "must be at most %d characters long", maxText)
			}
			return true
		}}
}

// namePattern is the form of names that become parts of file names.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`

var nameGrammar = regexp.MustCompile(namePattern)

// reservedNames cannot be file names on some systems, or are file names that a
// run writes itself.
var reservedNames = []string{
	"con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
	"report", "record", "confidential",
}

func checkName(s string) (string, error) {
	if !nameGrammar.MatchString(s) {
		return "", fmt.Errorf("must be 1 to 100 of the characters A-Z a-z 0-9 _ - and start with a letter or digit, not %s", problem.Shown(s))
	}
	if slices.Contains(reservedNames, strings.ToLower(s)) {
		return "", fmt.Errorf("must not be %s, which is a reserved file name", problem.Shown(s))
	}
	return s, nil
}

// name is a text that is used in file names.
func name() kind[string] {
	k := transform(text(), checkName)
	k.label, k.schema = "name", schema{"type": "string", "pattern": namePattern}
	return k
}

// pattern is a text of a given form, described by label. The expression is compiled when a text is first held to it.
func pattern(label, expr string) kind[string] {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	return scalar(label, schema{"type": "string", "pattern": expr}, func(s string) (string, error) {
		if !re().MatchString(s) {
			return "", fmt.Errorf("must be %s, not %s", label, problem.Shown(s))
		}
		return s, nil
	})
}

// hexadecimal is a number of so many hexadecimal digits, in lower case.
func hexadecimal(digits int) kind[string] {
	return transform(pattern(fmt.Sprintf("%d hexadecimal digits", digits), fmt.Sprintf(`^[0-9A-Fa-f]{%d}$`, digits)),
		func(s string) (string, error) { return strings.ToLower(s), nil })
}

// choice is one of a few words.
func choice[V ~string](words ...V) kind[V] {
	label := fmt.Sprint(words[0])
	for _, w := range words[1:] {
		label += ", " + string(w)
	}
	if len(words) > 1 {
		label = "one of " + label
	}
	return oneWord(label, words...)
}

// oneWord is a choice that problems describe by label.
func oneWord[V ~string](label string, words ...V) kind[V] {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return kind[V]{label: label, schema: schema{"enum": list}, read: func(c *cursor, p lang.Place, into *V) bool {
		if *into = V(p.Node.Value); p.Node.Kind != yaml.ScalarNode || !slices.Contains(list, p.Node.Value) {
			return c.Wrong(p, problem.DidYouMean(p.Node.Value, list), "must be %s, not %s", label, lang.ShapeOf(p.Node))
		}
		return true
	}}
}

// words is a choice that refuses some other words with the reason.
func words[V ~string](refused map[string]string, allowed ...V) kind[V] {
	k := choice(allowed...)
	read := k.read
	k.read = func(c *cursor, p lang.Place, into *V) bool {
		if why := refused[strings.ToLower(p.Node.Value)]; why != "" && p.Node.Kind == yaml.ScalarNode {
			return c.Wrong(p, "leave dataset.collected out: the table is then charged without what the collection would buy",
				"%s is refused: %s", strings.ToLower(p.Node.Value), why)
		}
		return read(c, p, into)
	}
	return k
}

// flag is true or false.
func flag() kind[bool] {
	return kind[bool]{label: "true or false", schema: schema{"type": "boolean"}, read: func(c *cursor, p lang.Place, into *bool) bool {
		*into = strings.EqualFold(p.Node.Value, "true")
		return p.Node.Tag == "!!bool" || c.Wrong(p, "", "must be true or false, not %s", lang.ShapeOf(p.Node))
	}}
}

// duration is a positive length of time such as 30s.
func duration() kind[time.Duration] {
	return scalar("duration such as 30s or 10m", schema{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
		func(t string) (time.Duration, error) {
			d, err := time.ParseDuration(t)
			if err != nil || d <= 0 {
				return 0, fmt.Errorf("must be a positive duration such as 30s or 10m, not %s", problem.Shown(t))
			}
			return d, nil
		})
}

// size is a number of bytes in a unit that people use.
func size() kind[int64] {
	return scalar("size such as 512MiB or 2GiB", schema{"type": "string", "pattern": `^[1-9][0-9]{0,5}(MiB|GiB)$`},
		func(t string) (int64, error) {
			number, unit := strings.TrimRight(t, "GMiB"), int64(1<<20)
			if strings.HasSuffix(t, "GiB") {
				unit = 1 << 30
			}
			n, err := strconv.ParseInt(number, 10, 32)
			if err != nil || n <= 0 || n > 999_999 || t != number+map[int64]string{1 << 20: "MiB", 1 << 30: "GiB"}[unit] {
				return 0, fmt.Errorf("must be a size such as 512MiB or 2GiB, not %s", problem.Shown(t))
			}
			return n * unit, nil
		})
}

// orMapping is a value of one kind, or a mapping that says more.
func orMapping[V any](label string, plain, mapping kind[V]) kind[V] {
	k := mapping
	k.label, k.schema = label, schema{"anyOf": []schema{plain.schema, mapping.schema}}
	k.read = func(c *cursor, p lang.Place, into *V) bool {
		if p.Node.Kind == yaml.MappingNode {
			return mapping.read(c, p, into)
		}
		return plain.read(c, p, into)
	}
	return k
}

// handling is a rule as one word, or a mapping with the value to impute.
func handling(words ...job.Rule) kind[job.Handling] {
	label := choice(words...).label + ", or {impute: value}"
	word := transform(oneWord(label, words...), func(r job.Rule) (job.Handling, error) { return job.Handling{Rule: r}, nil })
	form := object(key("impute", value(), func(h *job.Handling) *string { return &h.Text },
		"The public value that takes the place of one that cannot be used", required()))
	imputed := kind[job.Handling]{schema: form.schema, read: func(c *cursor, p lang.Place, into *job.Handling) bool {
		before := len(c.Problems)
		into.Rule = job.Impute
		return form.read(c, p, into) && len(c.Problems) == before
	}}
	return orMapping(label, word, imputed)
}

// take is a number of units, or the word all.
func take() kind[job.Take] {
	n := count()
	const label = "whole number, at least 1, or all"
	return kind[job.Take]{label: label, schema: schema{"anyOf": []schema{n.schema, {"const": "all"}}},
		read: func(c *cursor, p lang.Place, into *job.Take) bool {
			if into.All = p.Node.Value == "all"; into.All {
				return true
			}
			if p.Node.Kind == yaml.ScalarNode && p.Node.Tag == "!!str" {
				return c.Wrong(p, problem.DidYouMean(p.Node.Value, []string{"all"}), "must be a %s, not %s", label, lang.ShapeOf(p.Node))
			}
			return n.read(c, p, &into.Count)
		}}
}

// span is the range of a number; an empty end is open-ended.
type span struct {
	lo, hi         string
	loOpen, hiOpen bool
}

// String writes the span as a condition.
func (s span) String() string {
	var parts []string
	if s.lo != "" {
		parts = append(parts, map[bool]string{true: "greater than ", false: "at least "}[s.loOpen]+s.lo)
	}
	if s.hi != "" {
		parts = append(parts, map[bool]string{true: "less than ", false: "at most "}[s.hiOpen]+s.hi)
	}
	return strings.Join(parts, " and ")
}

func (s span) holds(r *big.Rat) bool {
	inside := func(end string, open bool, side int) bool {
		d := side
		if end != "" {
			d = r.Cmp(mustRat(end)) * side
		}
		return d > 0 || d == 0 && !open || end == ""
	}
	return inside(s.lo, s.loOpen, 1) && inside(s.hi, s.hiOpen, -1)
}

func (s span) schema(typ string) schema {
	out := schema{"type": typ}
	if s.lo != "" {
		out[map[bool]string{true: "exclusiveMinimum", false: "minimum"}[s.loOpen]] = json.Number(s.lo)
	}
	if s.hi != "" {
		out[map[bool]string{true: "exclusiveMaximum", false: "maximum"}[s.hiOpen]] = json.Number(s.hi)
	}
	return out
}

// mustRat reads a number of a declaration; TestDeclarations reads them all.
func mustRat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// amount is an exact decimal number, quoted or not.
func amount(s span) kind[*big.Rat] {
	label := strings.TrimSuffix("number "+s.String(), " ")
	forms := schema{"anyOf": []schema{s.schema("number"), {"type": "string", "pattern": rational.Pattern}}}
	return scalar(label, forms, func(t string) (*big.Rat, error) {
		r, err := ParseAmount(t)
		if err == nil && !s.holds(r) {
			err = fmt.Errorf("must be %s, not %s", s, problem.Shown(t))
		}
		return r, err
	})
}

// count is a whole number of at least 1.
func count() kind[int64] {
	s := span{lo: "1", hi: "9007199254740992"} // 2^53: exact in every reader of JSON
	return scalar("whole number, at least 1", s.schema("integer"), func(t string) (int64, error) {
		r, err := ParseAmount(t)
		switch {
		case err != nil || !r.IsInt():
			return 0, fmt.Errorf("must be a whole number, not %s", problem.Shown(t))
		case !(span{lo: s.lo}).holds(r):
			return 0, fmt.Errorf("must be at least 1, not %s", problem.Shown(t))
		case !s.holds(r):
			return 0, fmt.Errorf("must be at most 2^53, not %s", problem.Shown(t))
		}
		return r.Num().Int64(), nil
	})
}

// only is the whole number n, with the reason why it is no other.
func only(n int64, why string) kind[int64] {
	k := transform(count(), func(v int64) (int64, error) {
		if v != n {
			return 0, fmt.Errorf("must be %d, not %d: %s", n, v, why)
		}
		return v, nil
	})
	k.label, k.schema = fmt.Sprint(n), schema{"const": n}
	return k
}
