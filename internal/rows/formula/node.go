package formula

import (
	"strconv"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// Node is one step of a checked expression. Greater is Less with its arguments swapped,
// and != is Not of Equal. Nobody changes a Node once Check has returned it.
type Node struct {
	Op   Op
	Type Type
	Args []*Node

	Column string  // of Read
	Number float64 // of a Literal number, finite
	Text   string  // of a Literal text
	Whole  int64   // of a Literal bool (0 or 1), date (days since 1970-01-01) or timestamp (microseconds since then)

	column *Column     // of Read: what is declared
	at     problem.Pos // where it stands in the text
}

// opNames are the operations in Canonical. They never change, because digests of jobs hold them.
var opNames = map[Op]string{
	And: "and", Or: "or", Not: "not", Missing: "missing", If: "if", In: "in", Equal: "eq", Less: "lt", LessEqual: "le",
	Add: "add", Subtract: "sub", Multiply: "mul", Divide: "div", Modulo: "mod", Negate: "neg", Min: "min", Max: "max", Abs: "abs",
	Floor: "floor", Ceil: "ceil", Round: "round", Sqrt: "sqrt", StartsWith: "starts", EndsWith: "ends", Contains: "contains", Size: "size",
	ToNumber: "number", ToDate: "date", ToTimestamp: "timestamp", Year: "year", Month: "month", Day: "day", Weekday: "weekday",
	Hour: "hour", DaysBetween: "days_between",
}

// canonical writes the tree in parentheses, each operation before its arguments, with one space between.
func (n *Node) canonical(b *strings.Builder) {
	switch n.Op {
	case Read:
		b.WriteString("[" + strconv.Quote(n.Column) + "]")
	case Null:
		b.WriteString("null")
	case Literal:
		b.WriteString(n.literal())
	default:
		b.WriteString("(" + opNames[n.Op])
		for _, a := range n.Args {
			b.WriteByte(' ')
			a.canonical(b)
		}
		b.WriteByte(')')
	}
}

func (n *Node) literal() string {
	switch n.Type {
	case Number:
		return strconv.FormatFloat(n.Number, 'g', -1, 64)
	case Text:
		return strconv.Quote(n.Text)
	case Bool:
		return strconv.FormatBool(n.Whole == 1)
	case Date:
		return "d" + strconv.FormatInt(n.Whole, 10)
	}
	return "s" + strconv.FormatInt(n.Whole, 10)
}

// ParseDate reads a day such as 2026-10-01 as days since 1970-01-01. Years have four digits.
func ParseDate(text string) (days int64, ok bool) {
	t, err := time.Parse(time.DateOnly, text)
	return t.Unix() / 86400, err == nil && len(text) == len(time.DateOnly)
}

// timestamps are the spellings of a timestamp. A time zone is not one of them: a
// timestamp has none.
var timestamps = []string{"2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// ParseTimestamp reads a moment such as 2026-10-01T12:00:00 or 2026-10-01 12:00:00.25 as microseconds since 1970-01-01. It
// cuts off anything finer.
func ParseTimestamp(text string) (micros int64, ok bool) {
	for _, layout := range timestamps {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixMicro(), true
		}
	}
	return 0, false
}

// ParseNumber reads a number such as -12, 0.5 or 1e6. It accepts no thousands separators, white space, infinity or
// hexadecimal digits.
func ParseNumber(text string) (float64, bool) {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && strings.IndexByte("+-.eE", c) < 0 {
			return 0, false
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}
