package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A proof begins with its title and a line that says which declarations it is about:
//
//	**Proves.** `Epsilon`, `Design.GroupForm`
//
// A method is called Type.Method. A mechanism has its contract in the package doc and is
// called Mechanism. A declaration of a neighbouring package is called package.Name.
var (
	proves  = regexp.MustCompile(`(?m)^\*\*Proves\.\*\* (.+)$`)
	quoted  = regexp.MustCompile("`([A-Za-z0-9.]+)`")
	proofIn = regexp.MustCompile(`[./a-z_-]*[a-z_-]+\.proof\.md`)
)

// A declaration is an exported or unexported function, method or type of a package.
type declaration struct {
	name     string
	contract bool
	fn       *ast.FuncDecl // nil for a type and for a package
	design   bool          // a type with a method Event
}

func (d declaration) exported() bool {
	for _, part := range strings.Split(d.name, ".") {
		if !ast.IsExported(part) {
			return false
		}
	}
	return true
}

// returns reports whether one of the function's results has one of the types.
func (d declaration) returns(types ...string) bool {
	if d.fn == nil || d.fn.Type.Results == nil {
		return false
	}
	return slices.ContainsFunc(d.fn.Type.Results.List, func(f *ast.Field) bool {
		if _, ok := f.Type.(*ast.FuncType); ok {
			return slices.Contains(types, "func")
		}
		return slices.Contains(types, typeName(f.Type))
	})
}

// takes reports whether the receiver or a parameter has the type.
func (d declaration) takes(of string) bool {
	if d.fn == nil {
		return false
	}
	fields := d.fn.Type.Params.List
	if d.fn.Recv != nil {
		fields = append(slices.Clone(d.fn.Recv.List), fields...)
	}
	return slices.ContainsFunc(fields, func(f *ast.Field) bool { return typeName(f.Type) == of })
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return typeName(e.Elt)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// declarations reads what a package declares outside its tests, and which proofs its comments mention.
func declarations(t *testing.T, p pkg) (all []declaration, mentioned []string) {
	t.Helper()
	states := func(c *ast.CommentGroup) bool { return c != nil && strings.Contains(c.Text(), "# Contract") }
	for _, f := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if states(file.Doc) {
			all = append(all, declaration{name: "Mechanism", contract: true})
		}
		for _, c := range file.Comments {
			mentioned = append(mentioned, proofIn.FindAllString(c.Text(), -1)...)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = typeName(d.Recv.List[0].Type) + "." + name
				}
				all = append(all, declaration{name: name, contract: states(d.Doc), fn: d})
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						all = append(all, declaration{name: s.Name.Name, contract: states(s.Doc) || states(d.Doc)})
					}
				}
			}
		}
	}
	for i, d := range all {
		all[i].design = d.fn == nil && slices.ContainsFunc(all, func(m declaration) bool { return m.name == d.name+".Event" })
	}
	return all, mentioned
}

// rules picks the exported declarations of a package that are rules: a proof has to name each, also
// one without a contract.
var rules = map[string]func(declaration) bool{
	"samplers":              func(d declaration) bool { return d.name == "Variance" || d.design },
	"internal/noise":        func(d declaration) bool { return d.takes("Source") },
	"privacy/amplify":       func(d declaration) bool { return d.returns("float64", "func") },
	"internal/calculus/rdp": func(d declaration) bool { return d.returns("float64", "Curve") },
	"internal/calculus/pld": func(d declaration) bool { return d.returns("Mechanism", "Interval") },
	"privacy/shuffle":       func(d declaration) bool { return d.returns("float64", "Interval") },
	"privacy/iterate":       func(d declaration) bool { return d.returns("float64", "Position") },
}

// notRules are exported declarations that look like rules and are none, with the reason.
var notRules = map[string]string{
	"internal/noise.Source.Err":               "says whether the system's randomness failed",
	"privacy/amplify.Efficiency":              "a figure of the report, nothing is charged by it",
	"privacy/amplify.EfficiencyBound":         "a figure of the report, nothing is charged by it",
	"privacy/amplify.Design.Group":            "a number that GroupDelta's caller needs",
	"privacy/amplify.Design.PublishedEpsilon": "a published claim that is shown and never charged",
}

// Every Contract is proved by a proof that names the declaration; every exported sampler, noise
// primitive and accounting rule is named by a proof; a proof names what exists and says something.
func TestProofsNameTheirRules(t *testing.T) {
	declared := map[string][]declaration{} // by the name of the package
	proved := map[string]bool{}            // package.declaration
	all := packages(t)
	for _, p := range all {
		ds, mentioned := declarations(t, p)
		declared[p.name()] = ds
		for _, m := range mentioned {
			if _, err := os.Stat(filepath.Join(p.Dir, m)); err != nil {
				t.Errorf("%s mentions %s, which does not exist beside the code", p.name(), m)
			}
		}
	}
	has := func(p, name string) bool {
		return slices.ContainsFunc(declared[p], func(d declaration) bool { return d.name == name })
	}
	proofs := 0
	for _, p := range all {
		found, err := filepath.Glob(filepath.Join(p.Dir, "*.proof.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			proofs++
			for _, name := range provedBy(t, f) {
				first, rest, _ := strings.Cut(name, ".")
				parent, child := path.Dir(p.name()), path.Join(p.name(), first)
				switch {
				case has(p.name(), name):
					proved[p.name()+"."+name] = true
				case path.Base(parent) == first && has(parent, rest):
					proved[parent+"."+rest] = true
				case has(child, rest):
					proved[child+"."+rest] = true
				case has("internal/calculus/"+first, rest): // what the calculus keeps to itself
					proved["internal/calculus/"+first+"."+rest] = true
				default:
					t.Errorf("%s/%s proves %s, which nothing declares", p.name(), filepath.Base(f), name)
				}
			}
		}
	}
	contracts, ruled, excused := 0, map[string]int{}, map[string]bool{}
	for p, ds := range declared {
		isRule := rules[p]
		mechanism := path.Dir(p) == "plugins" && has(p, "Mechanism.Release")
		for _, d := range ds {
			name := p + "." + d.name
			rule := isRule != nil && d.exported() && isRule(d) || mechanism && d.name == "Mechanism"
			if d.contract {
				contracts++
			}
			if rule {
				ruled[path.Dir(p+"/x")]++
			}
			if _, is := notRules[name]; is && rule {
				excused[name] = true
			} else if (d.contract || rule) && !proved[name] {
				t.Errorf("%s is a rule or states a contract; no *.proof.md proves it by name", name)
			}
		}
		if mechanism && !slices.ContainsFunc(ds, func(d declaration) bool { return d.name == "Mechanism" && d.contract }) {
			t.Errorf("the doc of %s, a mechanism, states no contract", p)
		}
	}
	for n := range notRules {
		if !excused[n] {
			t.Errorf("%s is excused and is no rule", n)
		}
	}
	if contracts < 90 || proofs < 50 || len(ruled) < len(rules)+6 {
		t.Errorf("too little was looked at: %d contracts, %d proofs, rules %v", contracts, proofs, ruled)
	}
}

// provedBy reads the names in a proof's line **Proves.**
func provedBy(t *testing.T, file string) (names []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := proves.FindSubmatch(b)
	if line == nil || len(b) < 400 {
		t.Errorf("%s: no line **Proves.**, or too short to be a proof", file)
		return nil
	}
	for _, n := range quoted.FindAllSubmatch(line[1], -1) {
		names = append(names, string(n[1]))
	}
	if len(names) == 0 {
		t.Errorf("%s proves nothing", file)
	}
	return names
}
