package formula

import (
	"slices"
	"strings"
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

	listed // the list behind in, while the types are checked
)

// function declares one function or operator of the language.
type function struct {
	name  string // or sign
	op    Op
	takes string // its arguments, in the words of a message
	forms string // signatures, such as "nn>b": two numbers give a bool; in has none
}

// letters are the types in a signature.
var letters = map[byte]Type{'n': Number, 't': Text, 'b': Bool, 'd': Date, 's': Timestamp}

// gives returns the type that the function gives for arguments. null fits each type.
func (f function) gives(args []*Node) (Type, bool) {
	for form := range strings.FieldsSeq(f.forms) {
		takes, gives, _ := strings.Cut(form, ">")
		fits := len(takes) == len(args)
		for i := 0; fits && i < len(takes); i++ {
			fits = args[i].Op == Null || args[i].Type == letters[takes[i]]
		}
		if fits {
			return letters[gives[0]], true
		}
	}
	return 0, false
}

const (
	ordered = "two numbers, two texts, two dates or two timestamps"
	equals  = "two values of one type"
)

var functions = []function{
	{"&&", And, "two conditions", "bb>b"},
	{"||", Or, "two conditions", "bb>b"},
	{"!", Not, "a condition", "b>b"},
	{"?", If, "a condition, and two values of one type",
		"bnn>n btt>t bbb>b bdd>d bss>s"},
	{"in", In, "a value, and a list of values of its type such as ['a', 'b']", ""},
	{"==", Equal, equals, "nn>b tt>b bb>b dd>b ss>b"},
	{"!=", Equal, equals, "nn>b tt>b bb>b dd>b ss>b"},
	{"<", Less, ordered, "nn>b tt>b dd>b ss>b"},
	{"<=", LessEqual, ordered, "nn>b tt>b dd>b ss>b"},
	{">", Less, ordered, "nn>b tt>b dd>b ss>b"},
	{">=", LessEqual, ordered, "nn>b tt>b dd>b ss>b"},
	{"+", Add, "two numbers", "nn>n"},
	{"-", Subtract, "two numbers", "nn>n"},
	{"*", Multiply, "two numbers", "nn>n"},
	{"/", Divide, "two numbers", "nn>n"},
	{"%", Modulo, "two numbers", "nn>n"},
	{"-_", Negate, "a number", "n>n"},
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

func isOperator(name string) bool { return name == "in" || name[0] < 'a' || name[0] > 'z' }

func functionOf(name string) (function, bool) {
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		return function{}, false
	}
	return functions[i], true
}

// shown returns the name of a function in messages: + for an operator, and year() for year.
func (f function) shown() string {
	switch {
	case f.op == If:
		return "condition ? value : value"
	case isOperator(f.name):
		return strings.TrimSuffix(f.name, "_")
	}
	return f.name + "()"
}
