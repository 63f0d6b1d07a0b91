package formula

import "cel.dev/cel-go/common/types"

// Type is the type of an expression. The zero value is invalid.
type Type int

// The types.
const (
	_         Type = iota
	Number         // a float64; never NaN and never infinite, which are missing
	Text           // also a category: a text of a public domain
	Bool           // true or false
	Date           // a day
	Timestamp      // a moment without a time zone, to the microsecond
)

var typeNames = [...]string{"invalid", "number", "text", "bool", "date", "timestamp"}

func (t Type) String() string {
	if t < 0 || int(t) >= len(typeNames) {
		return typeNames[0]
	}
	return typeNames[t]
}

// cel are the types in cel-go. Dates and timestamps are opaque, so that only the declared functions take them.
var cel = [...]*types.Type{
	Number: types.DoubleType, Text: types.StringType, Bool: types.BoolType,
	Date: types.NewOpaqueType("date"), Timestamp: types.NewOpaqueType("timestamp"),
}

func fromCEL(t *types.Type) Type {
	for i := Number; i <= Timestamp; i++ {
		if t != nil && t.IsExactType(cel[i]) {
			return i
		}
	}
	return 0
}

// article returns the words for a value of a type in a message.
func article(t *types.Type) string {
	switch {
	case t == nil || t.Kind() == types.ErrorKind:
		return "something else"
	case t.Kind() == types.NullTypeKind:
		return "null"
	case t.Kind() == types.ListKind:
		return "a list"
	}
	if own := fromCEL(t); own != 0 {
		return "a " + own.String()
	}
	return "something else"
}
