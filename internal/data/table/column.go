package table

import (
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// Kind is the meaning of a column's values. The zero value is invalid.
type Kind int

// The kinds of columns, and how their values arrive.
const (
	_         Kind = iota
	Int            // Int64
	Float          // Float64
	Bool           // Int64, 0 or 1
	String         // Codes into Dict
	Decimal        // Int64 to be divided by 10^Scale, or Float64 when the column is Approximate
	Date           // Int64, days since 1970-01-01
	Time           // Int64 since midnight, in Unit
	Timestamp      // Int64 since 1970-01-01, in Unit
	Other          // not usable: nested, or a type nothing here computes with
)

var kindNames = [...]string{"invalid", "int", "float", "bool", "string", "decimal", "date", "time", "timestamp", "other"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return kindNames[0]
	}
	return kindNames[k]
}

// Unit is the unit of a Time or Timestamp column. The zero value means that a column has none.
type Unit int

// The units.
const (
	NoUnit Unit = iota
	Second
	Millisecond
	Microsecond
	Nanosecond
)

// Column describes one column of a table. Columns of one table agree over all its files.
type Column struct {
	Name        string // dotted path for a nested leaf
	Kind        Kind
	Nullable    bool
	Usable      bool
	Reason      string // why it is not usable
	Scale       int    // decimals: digits after the point
	Unit        Unit
	Approximate bool // a decimal of more than 18 digits: the values are rounded to the nearest float64
	Unsigned    bool // the bits of Int64 are those of a uint64
	Text        bool // stored as text (in a CSV file or the name of a folder) and read as its Kind

	folder bool // the name of a folder

	dropped bool // the schema of a listed table no longer has it
}

func unusable(name, reason string) Column {
	return Column{Name: name, Kind: Other, Reason: reason}
}

// parquetColumn describes a Parquet leaf to the rest of the program.
func parquetColumn(l *pagewalk.Leaf) Column {
	switch {
	case !l.Flat():
		return unusable(l.String(), "nested")
	case l.Doubt != "":
		return unusable(l.String(), l.Doubt)
	}
	c := Column{Name: l.String(), Kind: parquetKinds[l.Note.Meaning], Nullable: l.MaxDef > 0, Usable: true}
	n := l.Note
	switch n.Meaning {
	case pagewalk.Decimal:
		c.Scale, c.Approximate = n.Scale, n.Precision > 18
		if l.Type == pagewalk.FixedLen && l.TypeLen > maxDecimalBytes || n.Scale > maxDecimalScale {
			return unusable(l.String(), "a decimal wider than 32 bytes or 77 digits")
		}
	case pagewalk.TimeOfDay, pagewalk.Timestamp:
		c.Unit = parquetUnit(n.Unit)
	case pagewalk.Integer:
		c.Unsigned = n.Bits == 64 && !n.Signed
	case pagewalk.Plain:
		if c.Kind = plainKinds[l.Type]; c.Kind == 0 {
			return unusable(l.String(), "fixed-length bytes without a meaning")
		}
		if l.Type == pagewalk.Int96 {
			c.Unit = Microsecond
		}
	case pagewalk.Other:
		return unusable(l.String(), "a logical type that is not numbers, text or time")
	}
	return c
}

// parquetKinds are the kinds of columns with an annotation, and plainKinds those of columns without.
var (
	parquetKinds = map[pagewalk.Meaning]Kind{
		pagewalk.Text: String, pagewalk.Decimal: Decimal, pagewalk.Date: Date, pagewalk.TimeOfDay: Time,
		pagewalk.Timestamp: Timestamp, pagewalk.Integer: Int, pagewalk.Half: Float,
	}
	plainKinds = map[pagewalk.Type]Kind{
		pagewalk.Boolean: Bool, pagewalk.Int32: Int, pagewalk.Int64: Int, pagewalk.Int96: Timestamp,
		pagewalk.Float: Float, pagewalk.Double: Float, pagewalk.ByteArray: String,
	}
)

func parquetUnit(u pagewalk.Unit) Unit {
	return Millisecond + Unit(u-pagewalk.Millis)
}

// Values holds the values of one column of a batch. Exactly one of Float64, Int64 and Codes is set, with zero in the
// place of a null. Nobody may keep or change it after visit returns, except Dict and its strings, which may be kept.
type Values struct {
	Kind    Kind
	Float64 []float64
	Int64   []int64
	Codes   []int32  // indices into Dict
	Dict    []string // the same in all batches of one DictID; may hold unused entries and duplicates
	DictID  uint64
	// Unsigned says that the bits of Int64 are those of uint64 values.
	Unsigned bool
	Valid    []byte // bit i (least significant first) is set when row i is not null; nil when there are no nulls
	Scale    int
	Unit     Unit
	// Unread counts the texts of the block that are no value of this kind, picked or not. They are null.
	Unread Unread
}

// Unread counts texts that are no value of a column's kind. Only CSV files have such texts.
type Unread struct {
	Texts      int
	Commas     int // of these, texts that would be numbers if their comma was a decimal point
	Delimiters int // of these, texts with a character that separates the fields of other files
}

// add counts a text.
func (u *Unread) add(text string) {
	u.Texts++
	before, after, comma := strings.Cut(text, ",")
	switch {
	case strings.ContainsAny(text, ";\t|"):
		u.Delimiters++
	case comma:
		if _, err := strconv.ParseFloat(strings.ReplaceAll(before, ".", "")+"."+after, 64); err == nil {
			u.Commas++
		}
	}
}

// plus adds the counts of other texts.
func (u Unread) plus(v Unread) Unread {
	return Unread{u.Texts + v.Texts, u.Commas + v.Commas, u.Delimiters + v.Delimiters}
}

// Divisor returns the number by which each Int64 is divided to be a number: decimals have their scale, and
// times are in seconds.
func (v *Values) Divisor() float64 {
	if per := perSecond[v.Unit]; per > 0 {
		return float64(per)
	}
	return math.Pow10(v.Scale)
}

var dictionaries atomic.Uint64

// NewDictID returns a DictID that no other dictionary of this process has.
func NewDictID() uint64 { return dictionaries.Add(1) }

// Null reports whether row i is null.
func (v *Values) Null(i int) bool {
	return v.Valid != nil && v.Valid[i>>3]>>(i&7)&1 == 0
}
