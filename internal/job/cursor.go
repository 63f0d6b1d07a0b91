package job

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// cursor is what reading one job file shares: where things stand, what is wrong,
// and how much has been read.
type cursor struct {
	file     string
	dir      string
	getenv   func(string) (string, bool)
	problems Problems
	pos      map[string]Pos
	left     int // nodes that may still be read
	spent    bool
}

// maxExpanded is how many values the aliases of a file may add to those that are
// written.
const maxExpanded = 200_000

// place is a value on its way in: the node, and the key's path and position.
type place struct {
	path string
	at   *yaml.Node // the key, or the element of a list
	node *yaml.Node // the value
}

func (c *cursor) position(n *yaml.Node) Pos {
	if n == nil {
		return Pos{File: c.file}
	}
	return Pos{File: c.file, Line: n.Line, Column: n.Column}
}

// wrong records a problem at a key.
func (c *cursor) wrong(p place, hint, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Pos: c.position(p.at), Step: StepLoad, Path: shownPath(p.path),
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// open follows an alias, notes the position, and refuses what no value may be.
// The bound on nodes makes exploding and circular aliases harmless.
func (c *cursor) open(p *place) bool {
	if c.spent {
		return false
	}
	if c.left--; c.left < 0 {
		c.spent = true
		c.wrong(*p, "write the values out, or share less", "the aliases of this file expand to more than %d values", maxExpanded)
		return false
	}
	c.pos[p.path] = c.position(p.at)
	for hops := 0; p.node.Kind == yaml.AliasNode; hops++ {
		if hops > maxDepth {
			c.wrong(*p, "", "is an alias of itself")
			return false
		}
		p.node = p.node.Alias
	}
	if p.node.Style&yaml.TaggedStyle != 0 {
		c.wrong(*p, "leave the tag out", "has a YAML tag, which the job language does not use")
		return false
	}
	if p.node.Tag == "!!null" {
		c.wrong(*p, "say a value, or leave the key out", "has no value")
		return false
	}
	return true
}

// shape names a value that is not what was asked for.
func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return shown(n.Value)
}
