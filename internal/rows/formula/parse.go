package formula

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// kind tells tokens and expressions apart. The zero value is the end of a text.
type kind int

const (
	end kind = iota
	sign
	word // of an expression: the name of a column, with dots
	literal
	call // also of an operator
	list
)

// expr is an expression as it is written.
type expr struct {
	kind  kind
	at    problem.Pos // of a call its parenthesis, of an operator its sign, of a name its last dot
	name  string
	args  []*expr
	value any // of a literal: a float64, string, bool, or nil for null
	depth int
}

// token is the next word, sign or literal of a text.
type token struct {
	kind  kind
	at    problem.Pos
	text  string
	value any
}

func (t *token) is(text string) bool { return t.kind == sign && t.text == text }

// tokens matches what a text is made of: blanks and comments, texts, fractions, whole numbers, words and signs.
var tokens = regexp.MustCompile(`^(?:([ \t\r\n]+|//[^\n]*)|` +
	`([bB]?[rR](?:'[^'\n]*'|"[^"\n]*")|[bB]?(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))|` +
	`([0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)|(0[xX][0-9a-fA-F]+|[0-9]+)[uU]?|([A-Za-z_][A-Za-z_0-9]*)|` +
	`(&&|\|\||[=!<>]=|[-+*/%<>!=?:.,()\[\]{}]))`)

// strength orders the operators between two values. Those of one strength apply from left to right.
var strength = map[string]int{
	"||": 1, "&&": 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "in": 3, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}

var constants = map[string]any{"true": true, "false": false, "null": nil}

// reserved are the words that cannot be names. Most are those of CEL.
var reserved = strings.Fields("as break const continue else false for function if import in let loop package namespace null return " +
	"true var void while")

// parser reads one text. After a problem it sees the end of the text.
type parser struct {
	text, rest string
	at         problem.Pos // of rest
	token      token
	depth      int // of parentheses, lists, calls and values of conditions
	problem    *problem.Problem
}

// parse reads a text.
func parse(text string) (*expr, *problem.Problem) {
	p := &parser{text: text, rest: text, at: beginning}
	p.next()
	e := p.value()
	if p.token.kind != end {
		p.syntax("unexpected token after expression")
	}
	return e, p.problem
}

func (p *parser) fail(at problem.Pos, message, hint string) {
	if p.problem == nil {
		p.problem = &problem.Problem{Pos: at, Message: message, Hint: hint}
	}
	p.rest, p.token = "", token{}
}

// syntax refuses the token, with a hint for the habits of other languages.
func (p *parser) syntax(message string) {
	hint, words, hints := "", strings.Fields(p.text), []string(nil)
	for _, w := range []struct{ word, use string }{{"and", "&&"}, {"or", "||"}, {"not", "!"}, {"AND", "&&"}, {"OR", "||"}, {"NOT", "!"},
		{"=", "=="}, {"<>", "!="}, {"IN", "in"}, {"LIKE", "startsWith() or endsWith()"}, {"IS", "missing()"}} {
		if slices.Contains(words, w.word) {
			hints = append(hints, w.use+" for "+w.word)
		}
	}
	switch {
	case len(hints) > 0:
		hint = "write " + strings.Join(hints, ", ")
	case p.token.is("="):
		hint = "write == to compare"
	}
	p.fail(p.token.at, "is no expression: "+message, hint)
}

func (p *parser) unexpected() {
	if p.token.kind == end {
		p.syntax("ends too early")
		return
	}
	p.syntax("unexpected " + problem.Shown(p.token.text))
}

// limit refuses what is nested too deeply.
func (p *parser) limit(depth int) {
	if depth > maxDepth {
		p.fail(beginning, "is nested too deeply", "split it into derived columns")
	}
}

// next reads the next token.
func (p *parser) next() {
	p.token = token{at: p.at}
	m := tokens.FindStringSubmatch(p.rest)
	switch {
	case p.rest == "":
		return
	case m == nil && (p.rest[0] == '\'' || p.rest[0] == '"'):
		p.syntax("unterminated string literal")
		return
	case m == nil:
		p.syntax("unexpected character")
		return
	}
	p.rest, p.at, p.token.text = p.rest[len(m[0]):], behind(p.at, m[0]), m[0]
	switch constant, known := constants[m[5]]; {
	case m[1] != "":
		p.next()
	case m[2] != "":
		p.quoted(m[2])
	case m[3]+m[4] != "":
		p.number(m[3], strings.ToLower(m[4]))
	case known:
		p.token.kind, p.token.value = literal, constant
	case m[5] != "":
		p.token.kind = word
	default:
		p.token.kind = sign
	}
}

// behind returns the place behind a text that begins at a place.
func behind(at problem.Pos, text string) problem.Pos {
	if lines := strings.Count(text, "\n"); lines > 0 {
		at.Line, at.Column = at.Line+lines, 1
	}
	at.Column += utf8.RuneCountInString(text[strings.LastIndexByte(text, '\n')+1:])
	return at
}

// number reads a fraction or a whole number.
func (p *parser) number(fraction, whole string) {
	x, err := strconv.ParseFloat(fraction, 64)
	if whole != "" {
		digits := strings.TrimPrefix(whole, "0x")
		v, _ := strconv.ParseUint(digits, map[bool]int{true: 10, false: 16}[digits == whole], 64) // the largest, if it is larger
		x, err = float64(v), nil
		if v > 1<<53 {
			p.fail(p.token.at, "a whole number must lie between -2^53 and 2^53, where numbers are exact", "")
			return
		}
	}
	if p.token.kind, p.token.value = literal, x; err != nil {
		p.syntax("the number is too large")
	}
}

// quoted reads a literal in quotes.
func (p *parser) quoted(text string) {
	if text[0] == 'b' || text[0] == 'B' {
		p.fail(p.token.at, "bytes are not part of the language", "leave out the b in front of the quotes")
		return
	}
	p.token.kind = literal
	if text[0] == 'r' || text[0] == 'R' {
		p.token.value = text[2 : len(text)-1]
		return
	}
	var b strings.Builder
	for rest := text[1 : len(text)-1]; rest != ""; {
		quote := text[0]
		if rest[0] == '\\' {
			quote = rest[1] // any quote may be escaped
		}
		r, _, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			p.syntax("an unknown escape in a text: write \\\\ for a backslash")
			return
		}
		b.WriteRune(r)
		rest = tail
	}
	p.token.value = b.String()
}

func (p *parser) accept(text string) bool {
	ok := p.token.is(text)
	if ok {
		p.next()
	}
	return ok
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.syntax("expected '" + text + "'")
	}
}

// call makes a call.
func (p *parser) call(at problem.Pos, name string, args ...*expr) *expr {
	e := &expr{kind: call, at: at, name: name, args: args}
	for _, a := range args {
		e.depth = max(e.depth, a.depth+1)
	}
	if (name == "&&" || name == "||") && args[0].name == name { // a && b && c is one call, and as deep as the deepest of the three
		e.at, e.depth = args[0].at, max(args[0].depth, args[1].depth+1)
	}
	p.limit(e.depth)
	return e
}

// value reads a whole expression.
func (p *parser) value() *expr {
	p.depth++
	defer func() { p.depth-- }()
	p.limit(p.depth)
	e, at := p.binary(1), p.token.at
	if !p.accept("?") {
		return e
	}
	yes := p.value()
	p.expect(":")
	return p.call(at, "?", e, yes, p.value())
}

// binary reads operators of some strength and more.
func (p *parser) binary(least int) *expr {
	left := p.unary()
	for {
		op := p.token
		s := strength[op.text]
		if op.kind != sign && op.text != "in" || s < least {
			return left
		}
		p.next()
		left = p.call(op.at, op.text, left, p.binary(s+1))
	}
}

func (p *parser) unary() *expr {
	at := p.token.at
	switch {
	case p.accept("!"):
		return p.call(at, "!", p.unary())
	case p.accept("-"):
		if x, ok := p.token.value.(float64); ok {
			p.token.at, p.token.value = at, -x
			return p.member()
		}
		return p.call(at, "-_", p.unary())
	}
	return p.member()
}

// member reads a.b and a.f(b).
func (p *parser) member() *expr {
	e := p.primary()
	for {
		at := p.token.at
		switch {
		case p.token.is("["):
			p.fail(at, "[ ] after a value is not part of the language", "")
		case p.accept("."):
			name := p.token
			if name.kind != word {
				p.unexpected()
				return e
			}
			p.next()
			switch open := p.token.at; {
			case p.accept("("):
				e = p.call(open, name.text, append([]*expr{e}, p.values(")")...)...)
			case e.kind == word:
				e.name, e.at = e.name+"."+name.text, at
			default:
				e = p.call(at, ".", e)
			}
		default:
			return e
		}
	}
}

func (p *parser) primary() *expr {
	t := p.token
	switch {
	case t.kind == literal:
		p.next()
		return &expr{kind: literal, at: t.at, value: t.value}
	case t.kind == word && slices.Contains(reserved, t.text):
		hint := "read a column of this name with column(" + quote(t.text) + ")"
		if t.text == "if" || t.text == "else" {
			hint = "write condition ? value : value"
		}
		p.fail(t.at, "the word "+t.text+" is reserved", hint)
	case t.kind == word:
		p.next()
		if at := p.token.at; p.accept("(") {
			return p.call(at, t.text, p.values(")")...)
		}
		return &expr{kind: word, at: t.at, name: t.text}
	case p.accept("("):
		e := p.value()
		p.expect(")")
		return e
	case p.accept("["):
		return &expr{kind: list, at: t.at, args: p.values("]")}
	case t.is("{"):
		p.fail(t.at, "braces are not part of the language", "write a list as ['a', 'b']")
	default:
		p.unexpected()
	}
	return &expr{at: t.at}
}

// values reads the values up to a sign.
func (p *parser) values(last string) (all []*expr) {
	for !p.token.is(last) {
		all = append(all, p.value())
		if !p.accept(",") {
			break
		}
	}
	p.expect(last)
	return all
}

// identifier reports whether an expression can use a name as it is.
func identifier(name string) bool {
	m := tokens.FindStringSubmatch(name)
	return m != nil && m[5] == name && !slices.Contains(reserved, name)
}

// quote writes a text as a literal of the language.
func quote(text string) string {
	q := strconv.Quote(text)
	return "'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
}
