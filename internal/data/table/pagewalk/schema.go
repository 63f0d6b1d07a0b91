package pagewalk

import "strings"

// Type is a physical type, numbered as in the format.
type Type int8

// The physical types of the format.
const (
	Boolean Type = iota
	Int32
	Int64
	Int96
	Float
	Double
	ByteArray
	FixedLen
)

// Width returns the bytes of one plain value, 0 for booleans and byte arrays.
func (l *Leaf) Width() int {
	switch l.Type {
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	case Int96:
		return 12
	case FixedLen:
		return l.TypeLen
	}
	return 0
}

// Leaf is one column that holds values.
type Leaf struct {
	Name           string   // the last part of the path
	Path           []string // from below the root
	Type           Type
	TypeLen        int
	MaxDef, MaxRep int
	Note           Annotation
	Doubt          string // why the annotation cannot be relied upon; empty when it can
	ID             int32  // the number of the field in the writer's table format; 0 for none
}

// Flat reports whether the leaf has exactly one value or null in each row. It may lie inside structs.
func (l *Leaf) Flat() bool { return l.MaxRep == 0 }

const (
	required = 0
	optional = 1
	repeated = 2
)

type element struct {
	name       string
	typ        int32
	typeLen    int32
	repetition int32
	children   int32
	converted  int32
	scale      int32
	precision  int32
	id         int32
	logical    Annotation
	has        fields
}

func readElement(c *compact) element {
	var e element
	e.has = c.object(places{
		1: &e.typ, 2: &e.typeLen, 3: &e.repetition, 4: &e.name, 5: &e.children, 6: &e.converted, 7: &e.scale, 8: &e.precision,
		9: &e.id, 10: func(typ byte) { e.logical = c.logical(typ) },
	})
	if e.has.last() > 10 {
		// The format has no such field. One damaged byte can shift all later field numbers up here, and the column
		// would lose its annotations without a trace.
		c.fail()
	}
	return e
}

// readSchema reads the schema list and returns its leaves in file order.
func readSchema(c *compact, typ byte) ([]Leaf, error) {
	n := c.list(typ, wireStruct)
	if c.err != nil {
		return nil, corrupt("the schema list does not fit its footer")
	}
	if n > MaxColumns {
		return nil, tooBig("more than %d schema elements", MaxColumns)
	}
	var (
		leaves []Leaf
		open   []group // groups that still expect children
		names  int     // bytes of the leaves' full names
	)
	for i := 0; i < n; i++ {
		e := readElement(c)
		if c.err != nil {
			return nil, corrupt("schema element %d cannot be read", i)
		}
		isGroup := !e.has.all(1)
		if i == 0 {
			if !isGroup || e.children < 0 {
				return nil, corrupt("the schema does not begin with a group")
			}
			open = append(open, group{left: int(e.children)})
			continue
		}
		for len(open) > 0 && open[len(open)-1].left == 0 {
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			return nil, corrupt("the schema has elements that belong to no group")
		}
		parent := &open[len(open)-1]
		parent.left--
		if !e.has.all(3, 4) || e.repetition < required || e.repetition > repeated {
			return nil, corrupt("schema element %d has no name or no repetition", i)
		}
		below := group{path: appendPath(parent.path, e.name), bytes: parent.bytes + len(e.name) + 1, def: parent.def, rep: parent.rep}
		if e.repetition != required {
			below.def++
		}
		if e.repetition == repeated {
			below.rep++
		}
		if isGroup {
			if e.children < 0 || int(e.children) > n {
				return nil, corrupt("schema element %d declares more children than there are elements", i)
			}
			if len(open) >= maxDepth {
				return nil, tooBig("the schema nests deeper than %d", maxDepth)
			}
			below.left = int(e.children)
			open = append(open, below)
			continue
		}
		if e.children > 0 || e.typ < 0 || e.typ > int32(FixedLen) {
			return nil, corrupt("schema element %d has no valid physical type", i)
		}
		if Type(e.typ) == FixedLen && (e.typeLen <= 0 || e.typeLen > 1<<20) {
			return nil, corrupt("schema element %d has an invalid length", i)
		}
		if names += below.bytes; names > MaxNames {
			return nil, tooBig("the names of the columns take more than %d bytes", MaxNames)
		}
		leaf := Leaf{Name: e.name, Path: below.path, Type: Type(e.typ), TypeLen: int(e.typeLen), MaxDef: below.def, MaxRep: below.rep,
			ID: max(e.id, 0)}
		leaf.Note, leaf.Doubt = e.annotation()
		leaves = append(leaves, leaf)
	}
	for _, g := range open {
		if g.left != 0 {
			return nil, corrupt("the schema ends before its groups are complete")
		}
	}
	if len(open) == 0 {
		return nil, corrupt("the schema is empty")
	}
	return leaves, nil
}

type group struct {
	path     []string
	bytes    int // of the path
	left     int
	def, rep int
}

func appendPath(path []string, name string) []string {
	return append(path[:len(path):len(path)], name)
}

// String returns the path with dots between its parts.
func (l *Leaf) String() string { return strings.Join(l.Path, ".") }
