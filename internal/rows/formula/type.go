package formula

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

// article returns the words for a value in a message.
func article(n *Node) string {
	switch n.Op {
	case Null:
		return "null"
	case listed:
		return "a list"
	}
	return "a " + n.Type.String()
}
