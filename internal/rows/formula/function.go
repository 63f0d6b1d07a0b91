package formula

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Op is the operation of a [Node]. The zero value is invalid.
type Op int

// The operations. Where nothing else is said, a missing argument gives a missing result.
const (
	_ Op = iota
	Read
	Literal
	Null // always missing
	And  // of two and more, in three-valued logic
	Or   // of two and more, in three-valued logic
	Not
	Missing // never missing
	If      // missing where its condition is
	In      // equal to one of the other arguments: Or of Equal
	Equal
	Less
	LessEqual
	Add
	Subtract
	Multiply
	Divide
	Modulo
	Negate
	Min
	Max
	Abs
	Floor
	Ceil
	Round
	Sqrt
	StartsWith
	EndsWith
	Contains
	Size
	ToNumber
	ToDate
	ToTimestamp
	Year
	Month
	Day
	Weekday
	Hour
	DaysBetween
)

// function declares one function or operator of the language.
type function struct {
	name  string // as cel-go knows it
	op    Op
	takes string // its arguments, in the words of a message
	forms string // signatures, such as "nn>b": two numbers give a bool
}

// letters are the types in a signature. L is a list of the type before it. 0 is null; cel-go accepts it for a date and a
// timestamp without a signature.
var letters = map[byte]*types.Type{'n': cel[Number], 't': cel[Text], 'b': cel[Bool], 'd': cel[Date], 's': cel[Timestamp],
	'0': types.NullType}

const (
	ordered = "two numbers, two texts, two dates or two timestamps"
	equals  = "two values of one type"
)

var functions = []function{
	{operators.LogicalAnd, And, "two conditions", "bb>b"},
	{operators.LogicalOr, Or, "two conditions", "bb>b"},
	{operators.LogicalNot, Not, "a condition", "b>b"},
	{operators.Conditional, If, "a condition, and two values of one type",
		"bnn>n btt>t bbb>b bdd>d bss>s b0n>n bn0>n b0t>t bt0>t b0b>b bb0>b"},
	{operators.In, In, "a value, and a list of values of its type such as ['a', 'b']", "nnL>b ttL>b bbL>b ddL>b ssL>b"},
	{operators.Equals, Equal, equals, "nn>b tt>b bb>b dd>b ss>b"},
	{operators.NotEquals, Equal, equals, "nn>b tt>b bb>b dd>b ss>b"},
	{operators.Less, Less, ordered, "nn>b tt>b dd>b ss>b"},
	{operators.LessEquals, LessEqual, ordered, "nn>b tt>b dd>b ss>b"},
	{operators.Greater, Less, ordered, "nn>b tt>b dd>b ss>b"},
	{operators.GreaterEquals, LessEqual, ordered, "nn>b tt>b dd>b ss>b"},
	{operators.Add, Add, "two numbers", "nn>n"},
	{operators.Subtract, Subtract, "two numbers", "nn>n"},
	{operators.Multiply, Multiply, "two numbers", "nn>n"},
	{operators.Divide, Divide, "two numbers", "nn>n"},
	{operators.Modulo, Modulo, "two numbers", "nn>n"},
	{operators.Negate, Negate, "a number", "n>n"},
	{"missing", Missing, "any value", "n>b t>b b>b d>b s>b"},
	{"min", Min, "2 to 8 numbers, dates or timestamps", upTo8},
	{"max", Max, "2 to 8 numbers, dates or timestamps", upTo8},
	{"abs", Abs, "a number", "n>n"},
	{"floor", Floor, "a number", "n>n"},
	{"ceil", Ceil, "a number", "n>n"},
	{"round", Round, "a number", "n>n"},
	{"sqrt", Sqrt, "a number", "n>n"},
	{"startsWith", StartsWith, "a text, and the text that it may begin with", "tt>b"},
	{"endsWith", EndsWith, "a text, and the text that it may end with", "tt>b"},
	{"contains", Contains, "a text, and the text that it may contain", "tt>b"},
	{"size", Size, "a text", "t>n"},
	{"number", ToNumber, "a text or a bool", "t>n b>n"},
	{"date", ToDate, "a text such as '2026-10-01', or a timestamp", "t>d s>d"},
	{"timestamp", ToTimestamp, "a text such as '2026-10-01T12:00:00', or a date", "t>s d>s"},
	{"year", Year, "a date or a timestamp", "d>n s>n"},
	{"month", Month, "a date or a timestamp", "d>n s>n"},
	{"day", Day, "a date or a timestamp", "d>n s>n"},
	{"weekday", Weekday, "a date or a timestamp", "d>n s>n"},
	{"hour", Hour, "a timestamp", "s>n"},
	{"days_between", DaysBetween, "two dates or timestamps, the earlier first", "dd>n ds>n sd>n ss>n"},
}

// upTo8 are the forms of min and max.
var upTo8 = func() string {
	var forms []string
	for n := 2; n <= 8; n++ {
		for _, t := range []string{"n", "d", "s"} {
			forms = append(forms, strings.Repeat(t, n)+">"+t)
		}
	}
	return strings.Join(forms, " ")
}()

// column is the function that reads a column whose name is no identifier.
const column = "column"

// FunctionNames returns the functions that an expression may call, sorted.
func FunctionNames() []string {
	names := []string{column}
	for _, f := range functions {
		if !isOperator(f.name) {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return names
}

func isOperator(name string) bool { return strings.ContainsAny(name, "_@!") && name != "days_between" }

func functionOf(name string) (function, bool) {
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		return function{}, false
	}
	return functions[i], true
}

// shown returns the name of a function in messages: + for _+_, and year() for year.
func (f function) shown() string {
	switch f.name {
	case operators.Conditional:
		return "condition ? value : value"
	case operators.LogicalNot:
		return "!"
	case operators.Negate:
		return "-"
	case operators.In:
		return "in"
	}
	if isOperator(f.name) {
		return strings.Trim(f.name, "_")
	}
	return f.name + "()"
}

// declarations declares the functions to cel-go's checker.
var declarations = sync.OnceValues(func() (all []*decls.FunctionDecl, err error) {
	for _, f := range functions {
		var forms []decls.FunctionOpt
		for i, form := range strings.Fields(f.forms) {
			takes, gives, _ := strings.Cut(form, ">")
			var args []*types.Type
			for _, c := range []byte(takes) {
				if c == 'L' {
					args[len(args)-1] = types.NewListType(args[len(args)-1])
				} else {
					args = append(args, letters[c])
				}
			}
			forms = append(forms, decls.Overload(fmt.Sprintf("%s/%d", f.name, i), args, letters[gives[0]]))
		}
		d, err := decls.NewFunction(f.name, forms...)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
})
