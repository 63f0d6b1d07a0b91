package expr

import (
	"errors"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/privacy"
)

// Parse reads an event written in YAML or JSON. The name of the file is only
// for the problems.
func Parse(text []byte, file string) (privacy.Event, Problems) {
	p := &parser{file: file, places: map[string]Pos{}}
	root, err := readTree(text)
	if err != nil {
		return nil, p.syntax(err)
	}
	return p.one(root)
}

// ParseNode reads an event from a part of a YAML document.
func ParseNode(n *yaml.Node, file string) (privacy.Event, Problems) {
	p := &parser{file: file, places: map[string]Pos{}}
	if n == nil {
		return nil, p.syntax(&syntaxError{1, 1, "", "the event is missing", eventHint})
	}
	root, err := fromYAML(n)
	if err != nil {
		return nil, p.syntax(err)
	}
	return p.one(root)
}

func (p *parser) one(root *node) (privacy.Event, Problems) {
	e := p.event(root, "")
	p.validate(e, "")
	if len(p.problems) > 0 {
		return nil, p.problems.sorted()
	}
	return e, nil
}

func (p *parser) syntax(err *syntaxError) Problems {
	return Problems{{Pos: Pos{p.file, err.line, err.col}, Path: err.path, Message: err.message, Hint: err.hint}}
}

// validate asks the calculus itself, so that no expression is accepted here
// that it would refuse later, without a place.
func (p *parser) validate(e privacy.Event, root string) {
	if len(p.problems) > 0 {
		return
	}
	err := privacy.Validate(e)
	if err == nil {
		return
	}
	path, message := root, err.Error()
	var wrong *privacy.Error
	if errors.As(err, &wrong) {
		path, message = join(root, wrong.Path), wrong.Message
	}
	at, ok := nearestPlace(p.places, path)
	if !ok {
		at = Pos{p.file, 1, 1}
	}
	p.problems = append(p.problems, Problem{Pos: at, Path: path, Message: message})
}
