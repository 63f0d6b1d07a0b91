package language

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
)

func variableKind() kind[job.Variable] {
	return object(
		key("type", choice(job.TextVariable, job.NumberVariable, job.DateVariable), func(v *job.Variable) *job.VariableType { return &v.Type },
			"A text, a decimal number, or a day such as 2026-10-31", required()),
		key("pattern", regularExpression(), func(v *job.Variable) *string { return &v.Pattern },
			"A regular expression that a text must match as a whole", example(`"[0-9]{4}-[0-9]{2}"`)),
		key("default", value(), func(v *job.Variable) *string { return &v.Default },
			"The value where the command sets none; without it the command must", example(`"2026-10"`)),
	)
}

// regularExpression is a regular expression in the syntax of Go.
func regularExpression() kind[string] {
	return scalar("regular expression", anyText, func(text string) (string, error) {
		if _, err := regexp.Compile(text); err != nil {
			return "", fmt.Errorf("must be a regular expression, not %s", problem.Shown(text))
		}
		return checkText(text)
	})
}

const variableName = `^[A-Za-z_][A-Za-z0-9_]*$`

var variableGrammar = regexp.MustCompile(variableName)

func checkVariableName(s string) (string, error) {
	if !variableGrammar.MatchString(s) || len(s) > maxVariableName {
		return "", fmt.Errorf("must be 1 to %d of the characters A-Z a-z 0-9 _ and not start with a digit, not %s", maxVariableName,
			problem.Shown(s))
	}
	return s, nil
}

const maxVariableName = 60

// variablesKey declares the key variables. What it declares is replaced in all values
// that are read after it.
func variablesKey() field[job.Job] {
	f := key("variables", named(variableKind(), "NAME", checkVariableName, func(v *job.Variable, n string) { v.Name = n }),
		func(j *job.Job) *[]job.Variable { return &j.Variables },
		"Values that a command may set with --set NAME=VALUE, by name",
		example(`{month: {type: text, pattern: "[0-9]{4}-[0-9]{2}"}}`), out("their values stand in the keys that use them"))
	read := f.read
	f.read = func(c *cursor, p lang.Place, j *job.Job) {
		read(c, p, j)
		c.bind(p, j.Variables)
	}
	return f
}

// constant are the keys in which no variable is replaced: a slip in one of them would
// open another account.
var constant = []string{"version", "dataset.id", "dataset.relation", "dataset.unit", "budget"}

// variables are the declared variables while a job is read.
type variables struct {
	set   map[string]string // what the command sets
	known map[string]*job.Variable
	unset []string            // the paths of values that lack a variable
	used  map[string][]string // the variables in each value, by its path
}

// variablesFirst moves the declaration of the variables to the front of the job.
func variablesFirst(root *yaml.Node) {
	for i := 2; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "variables" {
			pair := []*yaml.Node{root.Content[i], root.Content[i+1]}
			root.Content = append(pair, slices.Delete(slices.Clone(root.Content), i, i+2)...)
			return
		}
	}
}

// bind gives the variables their values and has them replaced from now on.
func (c *cursor) bind(p lang.Place, declared []job.Variable) {
	c.known, c.used = map[string]*job.Variable{}, map[string][]string{}
	var names []string
	for i := range declared {
		v := &declared[i]
		c.known[v.Name] = v
		names = append(names, v.Name)
		c.settle(p, v)
	}
	for _, name := range slices.Sorted(maps.Keys(c.set)) {
		if c.known[name] == nil {
			c.Wrong(p, hintOr(problem.DidYouMean(name, names), "variables of this job", names), "--set %s: is not a variable of this job", name)
		}
	}
	c.Replace = c.replace
}

// undeclared refuses values for a job that declares no variables. In such a job $( is text.
func (c *cursor) undeclared(root *yaml.Node) {
	for _, name := range slices.Sorted(maps.Keys(c.set)) {
		if c.known == nil {
			c.Wrong(lang.Place{Path: "variables", At: root}, "declare it: variables: {"+name+": {type: text}}",
				"--set %s: this job declares no variables", name)
		}
	}
}

// settle finds the value of a variable.
func (c *cursor) settle(p lang.Place, v *job.Variable) {
	path := job.Key(p.Path, v.Name)
	wrong := func(key, hint, format string, args ...any) {
		at := job.Key(path, key)
		if key == "" {
			at = path
		}
		pos, _ := problem.Nearest(c.Places, at)
		c.WrongAt(pos, at, hint, format, args...)
	}
	if v.Pattern != "" && v.Type != job.TextVariable {
		wrong("pattern", "", "is for variables of type text")
	}
	_, hasDefault := c.Places[job.Key(path, "default")]
	if hasDefault {
		if why := refusesValue(v, v.Default); why != "" {
			wrong("default", "", "%s", why)
		}
	}
	set, isSet := c.set[v.Name]
	switch {
	case isSet:
		if why := refusesValue(v, set); why != "" {
			wrong("", "", "--set %s: %s", v.Name, why)
		}
		v.Value = set
	case hasDefault:
		v.Value = v.Default
	default:
		wrong("", "say --set "+v.Name+"=VALUE, or give it a default", "is not set")
	}
}

// refusesValue explains why the variable cannot have a value, or returns "".
func refusesValue(v *job.Variable, text string) string {
	var err error
	switch v.Type {
	case job.NumberVariable:
		_, err = ParseAmount(text)
	case job.DateVariable:
		if _, no := time.Parse(time.DateOnly, text); no != nil {
			err = fmt.Errorf("must be a day such as 2026-10-31, not %s", problem.Shown(text))
		}
	case job.TextVariable:
		_, err = checkText(text)
	}
	switch {
	case err != nil:
		return err.Error()
	case v.Pattern != "" && v.Type == job.TextVariable && !whole(v.Pattern).MatchString(text):
		return fmt.Sprintf("must match %s, not %s", v.Pattern, problem.Shown(text))
	}
	return ""
}

// whole matches a text from its beginning to its end. The expression was compiled when it
// was read.
func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// reference is a variable in a value.
var reference = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// replace puts the values of variables into a value that is about to be read.
func (c *cursor) replace(p *lang.Place) bool {
	text := p.Node.Value
	if !strings.Contains(text, "$(") {
		return true
	}
	for _, key := range constant {
		if problem.Within(p.Path, key) {
			return c.Wrong(*p, "write the value out", "must not hold a variable: a slip would open another account")
		}
	}
	ok, lacks := true, false
	var names []string
	out := reference.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v := c.known[name]
		if v == nil {
			declared := slices.Sorted(maps.Keys(c.known))
			ok = c.Wrong(*p, hintOr(problem.DidYouMean(name, declared), "variables of this job", declared), "%s is not a variable of this job", ref)
			return ref
		}
		names = append(names, name)
		lacks = lacks || v.Value == "" // the variable has its problem already
		return v.Value
	})
	if strings.Contains(reference.ReplaceAllString(text, ""), "$(") {
		ok = c.Wrong(*p, "write $(NAME)", "has a $( that is not a variable")
	}
	if ok && lacks { // no problem of its own
		c.unset = append(c.unset, p.Path)
	}
	if !ok || lacks || names == nil {
		return ok && !lacks
	}
	c.used[p.Path] = names
	node := *p.Node
	node.Value, node.Tag = out, "!!str"
	if len(text) == len(names[0])+len("$()") && c.known[names[0]].Type == job.NumberVariable && node.Style == 0 {
		node.Tag = "!!float"
	}
	p.Node = &node
	return true
}

// traced adds to the problems of a value which variables are in it. A value that lacks one has no
// problem of its own.
func (c *cursor) traced(found job.Problems) job.Problems {
	found = slices.DeleteFunc(found, func(p job.Problem) bool { return slices.Contains(c.unset, p.Path) })
	for i, p := range found {
		for _, name := range c.used[p.Path] {
			found[i].Message += fmt.Sprintf("; $(%s) is %s", name, problem.Shown(cmp.Or(c.known[name].Value, "not set")))
		}
	}
	return found
}
