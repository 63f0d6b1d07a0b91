package ledger

import (
	"maps"
	"slices"
	"strings"
)

// tree commits to the state of the tables: every account, the releases of every plan,
// every kept sample, and the ledger's secret each have a key and a digest in it. Every
// record of the chain holds the root. So a transaction that reads a row can hold it to
// the newest record, and so can one that finds no row, at the cost of four nodes.
//
// A node is found by the first hex digits of the SHA-256 of a key. An inner node is the
// hashes of its sixteen children, one a line, empty for a child that is not there. A
// node at treeDepth lists the keys below it, one a line: the hash of the key, a space,
// and the digest.
type tree struct {
	nodes   map[string]string // by path, the root's is ""
	changed map[string]bool   // paths that the table of nodes does not hold yet
}

const treeDepth = 3

func newTree() *tree { return &tree{nodes: map[string]string{}, changed: map[string]bool{}} }

// pathsOf are the nodes that a key needs, the root first.
func pathsOf(key string) []string {
	leaf := digestOf([]byte(key))
	paths := make([]string, treeDepth+1)
	for i := range paths {
		paths[i] = leaf[:i]
	}
	return paths
}

func hashNode(text string) string {
	if text == "" {
		return ""
	}
	return digestOf([]byte(text))
}

func (s *tree) root() string { return hashNode(s.nodes[""]) }

// get returns the digest of a key, "" for a key that is not there. It is false where
// the nodes do not lead to the root.
func (s *tree) get(root, key string) (digest string, ok bool) {
	leaf, want := digestOf([]byte(key)), root
	paths := pathsOf(key)
	for i, p := range paths {
		text := s.nodes[p]
		switch lines := strings.Split(text, "\n"); {
		case hashNode(text) != want:
			return "", false
		case text == "":
			for _, below := range paths[i:] {
				s.nodes[below] = "" // what lies there without a parent must not enter with put
			}
			return "", true
		case len(p) == treeDepth:
			for _, line := range lines {
				if d, found := strings.CutPrefix(line, leaf+" "); found {
					return d, true
				}
			}
		case len(lines) != 16:
			return "", false
		default:
			want = lines[nibble(leaf[len(p)])]
		}
	}
	return "", true
}

// put sets the digest of a key whose nodes get has held to the root.
func (s *tree) put(key, digest string) {
	paths, leaf := pathsOf(key), digestOf([]byte(key))
	last := paths[treeDepth]
	lines := slices.DeleteFunc(strings.Split(s.nodes[last], "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, leaf) })
	lines = append(lines, leaf+" "+digest)
	slices.Sort(lines)
	s.set(last, strings.Join(lines, "\n"))
	for i := treeDepth - 1; i >= 0; i-- {
		children := strings.Split(s.nodes[paths[i]], "\n")
		if len(children) != 16 {
			children = make([]string, 16)
		}
		children[nibble(leaf[i])] = hashNode(s.nodes[paths[i+1]])
		s.set(paths[i], strings.Join(children, "\n"))
	}
}

func (s *tree) set(path, text string) { s.nodes[path], s.changed[path] = text, true }

// nibble is the value of a hex digit.
func nibble(c byte) int { return strings.IndexByte("0123456789abcdef", c) }

// load reads the nodes of keys.
func (t *tx) load(keys ...string) error {
	if t.tree == nil {
		t.tree = newTree()
	}
	var paths []any
	for _, k := range keys {
		for _, p := range pathsOf(k) {
			if _, ok := t.tree.nodes[p]; !ok {
				t.tree.nodes[p] = ""
				paths = append(paths, p)
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return t.each(func(row scanner) error {
		var path, node string
		err := row.Scan(&path, &node)
		t.tree.nodes[path] = node
		return err
	}, "SELECT path, node FROM dprelease_tree WHERE path IN ("+marks(len(paths))+")", paths...)
}

// commit makes the tree stand for what the newest record changed.
func (t *tx) commit() error {
	leaves, err := t.books.leaves()
	if err != nil || len(leaves) == 0 {
		return err
	}
	keys := make([]string, len(leaves))
	for i, l := range leaves {
		keys[i] = l.key
	}
	if err := t.load(keys...); err != nil {
		return err
	}
	for _, l := range leaves {
		t.tree.put(l.key, l.digest)
	}
	if err := t.saveNodes(); err != nil {
		return err
	}
	t.state.root = t.tree.root()
	return nil
}

// holds refuses what was read under a key, nil for nothing, unless the newest record
// commits to it.
func (t *tx) holds(key string, read any, what string) error {
	if err := t.trust(); err != nil {
		return err
	}
	if err := t.load(key); err != nil {
		return err
	}
	got := ""
	if read != nil {
		text, err := encode(read)
		if err != nil {
			return err
		}
		got = digestOf([]byte(text))
	}
	if want, ok := t.tree.get(t.state.root, key); !ok {
		return t.tampered("the tree of digests does not lead to the newest record")
	} else if want != got {
		return t.tampered(what + " is not as the chain left it")
	}
	return nil
}

// saveNodes stores the nodes that changed.
func (t *tx) saveNodes() error {
	var rows [][]any
	for _, p := range slices.Sorted(maps.Keys(t.tree.changed)) {
		rows = append(rows, []any{p, t.tree.nodes[p]})
	}
	if err := t.upsert("dprelease_tree", "path", "", "node", rows...); err != nil {
		return err
	}
	clear(t.tree.changed)
	return nil
}
