package samplers

// node is one unit of a frame: its children, or, for an ultimate unit, its
// records.
type node struct {
	key      []string
	children []*node
	unit     int32 // the ultimate unit, where there are no children
	records  int64
}

// size is how many units of the stage below, or records, the unit holds.
func (n *node) size() int64 {
	if n.children == nil {
		return n.records
	}
	return int64(len(n.children))
}

// tree arranges the ultimate units of a frame under the units that they lie in.
func (f *Frame) tree() *node { return f.subtree(f.order, 0) }

// subtree is the unit that holds the given ultimate units, whose keys agree in
// their first depth values and are in order.
func (f *Frame) subtree(units []int32, depth int) *node {
	first := &f.units[units[0]]
	n := &node{key: first.Key[:depth], unit: -1}
	if depth == len(f.columns) {
		n.unit, n.records = units[0], first.Records
		return n
	}
	for len(units) > 0 {
		end := 1
		for end < len(units) && f.units[units[end]].Key[depth] == f.units[units[0]].Key[depth] {
			end++
		}
		n.children = append(n.children, f.subtree(units[:end], depth+1))
		units = units[end:]
	}
	return n
}
