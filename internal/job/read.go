package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits on a job file. 10,000 releases need about 1.5 MB.
const (
	// MaxBytes is the size of the largest job file.
	MaxBytes = 4 << 20
	// maxMarks bounds the commas, colons and line ends, and so the YAML nodes.
	maxMarks = 600_000
)

// Options are what reading a job file depends on besides the file.
type Options struct {
	// Getenv looks up an environment variable; nil knows none.
	Getenv func(name string) (string, bool)
	// Mechanisms are the names of the built-in mechanisms; nil leaves the names
	// that releases use unchecked.
	Mechanisms []string

	_ struct{}
}

// Read reads and checks a job file. Where the error is Problems, the Job holds
// what could be read; any other error means that the file itself cannot be read.
func Read(path string, o Options) (*Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is a folder, not a job file")}
	}
	if info.Size() > MaxBytes {
		return &Job{File: path}, tooLarge(path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if !info.Mode().IsRegular() {
		dir = "." // a pipe lies in no folder that the job could mean
	}
	return parse(path, dir, data, o)
}

func tooLarge(file string) Problems {
	return Problems{{Pos: Pos{File: file}, Step: StepLoad,
		Message: fmt.Sprintf("is larger than %d MB, the most that a job file may be", MaxBytes>>20)}}
}

// Parse reads and checks the text of a job file; file is its name, for messages
// and for relative paths. The error, if any, is Problems.
func Parse(file string, data []byte, o Options) (*Job, error) {
	return parse(file, filepath.Dir(file), data, o)
}

func parse(file, dir string, data []byte, o Options) (*Job, error) {
	j := &Job{File: file, Dir: dir}
	c := &cursor{file: file, dir: j.Dir, getenv: o.Getenv, pos: map[string]Pos{}}
	if c.getenv == nil {
		c.getenv = func(string) (string, bool) { return "", false }
	}
	root := c.document(data)
	if root != nil {
		p := place{at: root, node: root}
		if c.open(&p) {
			read, _ := language().read(c, p)
			read.File, read.Dir, read.pos = j.File, j.Dir, c.pos
			*j = read
			j.Dataset.Unit = UnitRow
			c.problems = append(c.problems, check(j, o)...)
		}
	}
	return j, c.problems.Sort().Err()
}

// declared lets the parser read a text that says that it is YAML 1.2, which this
// language is; the parser knows that directive of 1.1 alone. No position changes.
func declared(data []byte) []byte {
	const directive = "%YAML 1.2"
	for at := 0; at < len(data); {
		line := data[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		switch text := bytes.TrimSpace(line); {
		case bytes.Equal(bytes.TrimRight(line, "\r\n\t "), []byte(directive)):
			data = bytes.Clone(data)
			data[at+len(directive)-1] = '1'
			return data
		case len(text) > 0 && text[0] != '#':
			return data
		}
		at += len(line)
	}
	return data
}

// document turns the text into one YAML tree, or says why there is none.
func (c *cursor) document(data []byte) *yaml.Node {
	file := place{}
	if len(data) > MaxBytes {
		c.problems = append(c.problems, tooLarge(c.file)...)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if i, what, hint := unreadable(data); what != "" {
		c.problems = append(c.problems, Problem{Pos: c.offset(data, i), Step: StepLoad, Message: what, Hint: hint})
		return nil
	}
	marks := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte(",")) + bytes.Count(data, []byte(":"))
	c.left = 2*marks + maxExpanded // one value for each mark, and its key
	if marks > maxMarks {
		c.wrong(file, "split the job", "has more than %d lines, commas and colons", maxMarks)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(declared(data)))
	root, err := decodeNode(dec)
	if errors.Is(err, io.EOF) || err == nil && root.Content[0].Tag == "!!null" {
		c.wrong(file, "see dprelease schema, or the examples", "is empty")
		return nil
	}
	if err != nil {
		c.syntax(data, err)
		return nil
	}
	if next, err := decodeNode(dec); !errors.Is(err, io.EOF) {
		if err != nil {
			c.syntax(data, err)
			return nil
		}
		c.wrong(place{at: next}, "one file is one job", "has a second YAML document")
		return nil
	}
	return root.Content[0]
}

// decodeNode reads the next document. yaml.v3 panics on some inputs that it did
// not expect; that is a syntax error like any other.
func decodeNode(dec *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("yaml: not understood")
		}
	}()
	n = &yaml.Node{}
	if err := dec.Decode(n); err != nil {
		return nil, err
	}
	return n, nil
}

// unreadable finds the first byte that no job file may hold.
func unreadable(data []byte) (at int, what, hint string) {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return i, "is not UTF-8", "save the file as UTF-8 text"
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f, r == 0xFFFE, r == 0xFFFF:
			return i, "holds a control character", "remove it"
		}
		i += n
	}
	return 0, "", ""
}

// offset is the position of a byte of the file.
func (c *cursor) offset(data []byte, i int) Pos {
	before := data[:i]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Pos{File: c.file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1}
}
