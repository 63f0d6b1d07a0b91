package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// readJSON builds the tree from the token stream of encoding/json: it keeps
// positions and duplicate keys, which decoding into a map would lose.
func readJSON(text []byte) (*node, *syntaxError) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	r := &jsonReader{text: text, dec: dec, line: 1, col: 1}
	root, err := r.value(0)
	if err != nil {
		return nil, err
	}
	r.moveTo(r.skip(int(dec.InputOffset())))
	if _, tokErr := dec.Token(); tokErr != io.EOF {
		return nil, &syntaxError{r.line, r.col, "", "there is more text after the end of the JSON value", "one query in one text; --jsonl reads one a line"}
	}
	return root, nil
}

type jsonReader struct {
	text  []byte
	dec   *json.Decoder
	nodes int
	path  []string // keys and indices around the current token
	// line and col of the byte at offset at; tokens come in order, so that
	// the text is walked once.
	at, line, col int
}

func (r *jsonReader) moveTo(offset int) {
	for r.at < offset && r.at < len(r.text) {
		if r.text[r.at] == '\n' {
			r.line, r.col = r.line+1, 0
		}
		_, size := utf8.DecodeRune(r.text[r.at:])
		r.at += size
		r.col++
	}
}

// skip is the offset of the next token at or after offset.
func (r *jsonReader) skip(offset int) int {
	for offset < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[offset]) >= 0 {
		offset++
	}
	return offset
}

func (r *jsonReader) token() (json.Token, *syntaxError) {
	r.moveTo(r.skip(int(r.dec.InputOffset())))
	tok, err := r.dec.Token()
	if err == nil {
		return tok, nil
	}
	message := "not valid JSON: " + err.Error()
	var syn *json.SyntaxError
	line, col := r.line, r.col
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		line, col = place(r.text, len(r.text))
		message = "not valid JSON: the text ends before the value is complete"
	case errors.As(err, &syn):
		line, col = place(r.text, min(max(int(syn.Offset)-1, r.at), len(r.text)))
	}
	return nil, &syntaxError{line, col, r.where(), message, ""}
}

func (r *jsonReader) where() string {
	var b []byte
	for _, s := range r.path {
		if len(b) > 0 && s[0] != '[' {
			b = append(b, '.')
		}
		b = append(b, s...)
	}
	return string(b)
}

func (r *jsonReader) value(depth int) (*node, *syntaxError) {
	tok, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &node{line: r.line, col: r.col}
	if r.nodes++; r.nodes > maxNodes {
		return nil, &syntaxError{n.line, n.col, r.where(), tooMany, ""}
	}
	if depth > maxSyntaxDepth {
		return nil, &syntaxError{n.line, n.col, r.where(), tooDeep, ""}
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '[' {
			return n, r.list(n, depth)
		}
		return n, r.mapping(n, depth)
	case string:
		n.text = t
	case json.Number:
		n.text = t.String()
	case bool:
		n.text, n.word = strconv.FormatBool(t), true
	case nil:
		n.null = true
	}
	return n, nil
}

func (r *jsonReader) list(n *node, depth int) *syntaxError {
	n.shape = list
	for i := 0; r.dec.More(); i++ {
		r.path = append(r.path, fmt.Sprintf("[%d]", i))
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
		n.items = append(n.items, item)
	}
	_, err := r.token()
	return err
}

func (r *jsonReader) mapping(n *node, depth int) *syntaxError {
	n.shape = mapping
	for r.dec.More() {
		tok, err := r.token()
		if err != nil {
			return err
		}
		key := tok.(string) // the decoder lets nothing else stand here
		e := entry{key: key, line: r.line, col: r.col}
		r.path = append(r.path, keyName(key))
		if e.value, err = r.value(depth + 1); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
		n.entries = append(n.entries, e)
	}
	_, err := r.token()
	return err
}

// keyName is a key as a part of a path: quoted where it could be mistaken for
// one.
func keyName(key string) string {
	for _, c := range key {
		if !(c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return strconv.Quote(shorten(key, 60))
		}
	}
	if key == "" {
		return `""`
	}
	return shorten(key, 60)
}
