package params

import (
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

var (
	errReference = errors.New("the schema of the parameters refers to what is not in it; only references of the form #/… are taken")
	errRecursive = errors.New("the schema of the parameters refers to something that holds itself")
)

// tree is a schema with all schemas in it, by their JSON pointers from the root.
type tree struct {
	root   *jsonschema.Schema
	within map[string]*jsonschema.Schema
	inner  map[string][]string // the schemas directly inside each
	moved  *jsonschema.Schema  // a copy of root, as it must look below #/$defs/root
}

func newTree(root *jsonschema.Schema) (*tree, error) {
	t := &tree{root: root, within: map[string]*jsonschema.Schema{}, inner: map[string][]string{}}
	if err := t.add("", root); err != nil {
		return nil, err
	}
	return t, t.ends("", map[string]bool{})
}

var types = []string{"null", "boolean", "object", "array", "number", "integer", "string"}

// add notes a schema and all in it, and refuses what could not be followed from
// here: identifiers, anchors, and references out of the schema.
func (t *tree) add(at string, s *jsonschema.Schema) error {
	if s == nil {
		return errNotSchema
	}
	t.within[at] = s
	if s.DynamicRef != "" || s.DynamicAnchor != "" || s.Anchor != "" || s.ID != "" && at != "" ||
		s.Ref != "" && s.Ref != "#" && !strings.HasPrefix(s.Ref, "#/") {
		return errReference
	}
	for _, name := range append([]string{s.Type}, s.Types...) {
		if name != "" && !slices.Contains(types, name) {
			return errNotSchema
		}
	}
	if s.MultipleOf != nil && !(*s.MultipleOf > 0) {
		return errNotSchema
	}
	for name, child := range children(s) {
		t.inner[at] = append(t.inner[at], at+name)
		if err := t.add(at+name, child); err != nil {
			return err
		}
	}
	return nil
}

// ends refuses a schema from which references and parts lead back to itself:
// checking against it might not end.
func (t *tree) ends(at string, open map[string]bool) error {
	done, seen := open[at]
	switch {
	case seen && !done:
		return errRecursive
	case seen:
		return nil
	}
	open[at] = false
	next := t.inner[at]
	if ref := t.within[at].Ref; ref != "" {
		target, ok := t.follow(ref)
		if !ok {
			return errReference
		}
		next = append(slices.Clone(next), target)
	}
	for _, n := range next {
		if err := t.ends(n, open); err != nil {
			return err
		}
	}
	open[at] = true
	return nil
}

// follow is the place that a reference names.
func (t *tree) follow(ref string) (string, bool) {
	at, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return "", false
	}
	_, ok := t.within[at]
	return at, ok
}

// children are the schemas directly inside s, by the rest of their pointers. All
// fields that can hold one are looked at, also those that no keyword of this
// version fills.
func children(s *jsonschema.Schema) map[string]*jsonschema.Schema {
	out := map[string]*jsonschema.Schema{}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "-" { // items and dependencies have two forms
			name = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(v.Type().Field(i).Name, "Array"), "Schemas"))
			name = strings.Replace(name, "dependency", "dependencies", 1)
		}
		switch f := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			if f != nil {
				out["/"+name] = f
			}
		case []*jsonschema.Schema:
			for k, x := range f {
				out["/"+name+"/"+strconv.Itoa(k)] = x
			}
		case map[string]*jsonschema.Schema:
			for k, x := range f {
				out["/"+name+"/"+pointer(k)] = x
			}
		}
	}
	return out
}

// pointer is a key as it stands in a JSON pointer.
func pointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// accepts reports whether the schema at a place accepts v. The place keeps what it
// refers to: a copy of the whole schema stands below the one that is asked.
func (t *tree) accepts(at string, v any) bool {
	if t.moved == nil {
		t.moved = t.root.CloneSchemas()
		t.moved.ID, t.moved.Schema = "", ""
		move(t.moved)
	}
	one := &jsonschema.Schema{Schema: t.root.Schema, Ref: "#/$defs/root" + (&url.URL{Path: at}).EscapedPath(),
		Defs: map[string]*jsonschema.Schema{"root": t.moved}}
	rules, err := one.Resolve(nil)
	return err == nil && rules.Validate(v) == nil
}

func move(s *jsonschema.Schema) {
	if s.Ref != "" {
		s.Ref = "#/$defs/root" + strings.TrimPrefix(s.Ref, "#")
	}
	for _, child := range children(s) {
		move(child)
	}
}
