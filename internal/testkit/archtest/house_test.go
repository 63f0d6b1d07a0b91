package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/dprelease/dprelease/"

type pkg struct {
	ImportPath string
	Dir        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

func (p pkg) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// packages lists the packages of the module with their imports.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,Deps,GoFiles", module+"...")
	cmd.Dir = "../../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func in(name string, roots ...string) bool {
	for _, r := range roots {
		if name == r || strings.HasPrefix(name, r+"/") {
			return true
		}
	}
	return false
}

// only lists the packages that may import a path directly.
var only = []struct {
	path string
	may  []string
}{
	{"github.com/hashicorp/go-plugin", []string{"internal/plugin/host"}},
	{"github.com/apache/arrow", []string{"internal/data/table"}},
	{"github.com/spf13/cobra", []string{"cmd/dprelease", "internal/command", "internal/author"}},
	{"github.com/jackc/pgx", []string{"internal/data/database", "ledger", "ledger/postgres"}},
	{"google.golang.org/grpc", []string{"internal/plugin/host", "internal/plugin/wire", "internal/plugin/conformance", "plugins/sdk/serve"}},
}

// never lists packages that a package must not reach, even through others.
var never = []struct {
	from, to string
}{
	{"privacy", module + "plugins"}, {"privacy", module + "samplers"},
	{"plugins", "github.com/hashicorp"}, {"plugins/sdk/serve", "github.com/apache"}, {"internal/plugin/wire", "github.com/apache"},
	{"plugins", module + "internal/pipeline"}, {"plugins", module + "internal/plugin/host"}, {"plugins", module + "internal/data/table"},
	{"internal/pipeline", module + "cmd"},
	{"samplers", module + "internal/pipeline"}, {"samplers", module + "ledger"}, {"samplers", module + "internal/job"}, {"report", module + "internal/pipeline"},
	{"report", module + "privacy/expr"}, {"report", module + "internal/job"}, {"report", module + "internal/job/lang"}, {"report", module + "ledger"},
	{"internal/job", module + "ledger"}, {"internal/job", module + "report"}, {"internal/job", module + "samplers"},
	{"ledger", module + "internal/job"}, {"ledger", module + "internal/plan"}, {"ledger", module + "internal/planned"}, {"ledger", module + "internal/run"}, {"ledger", module + "internal/rows"}, {"ledger", module + "internal/plugin"}, {"ledger", module + "internal/say"}, {"ledger", module + "privacy/expr"}, {"ledger", "gopkg.in/yaml.v3"},
	{"internal/data/table", module + "privacy"}, {"internal/noise", module + "internal/data/table"},
	{"internal/job", module + "internal/pipeline"},
	{"internal/pipeline", module + "internal/command"}, {"internal/pipeline", module + "internal/design"},
	// The program that holds private rows links nothing that only serves people before a run.
	{"cmd/dprelease", module + "internal/author"}, {"cmd/dprelease", module + "internal/design"}, {"cmd/dprelease", module + "internal/plan/planner"},
	{"cmd/dprelease", module + "internal/plan/account"}, {"cmd/dprelease", module + "plugins/sdk/sdktest"}, {"cmd/dprelease", module + "internal/plugin/conformance"},
}

// floors are the packages that carry a job out, from the ground up. A package reaches
// only packages of the floors below its own: the plan knows no table, no process and no
// report, and what runs, what is written and what is paid do not know each other but as
// the list says.
var floors = [][]string{
	{"internal/say/failure"},
	{"internal/planned"},
	{"internal/plan"},
	{"internal/run", "internal/output"},
	{"internal/run/budget", "internal/run/look"},
	{"internal/pipeline"},
	{"internal/command", "pipeline"},
	{"internal/author", "cmd/dprelease"},
}

// unknown lists the packages that the plan of a job must not reach: rows, files, processes, and the
// report, which is built from the plan.
var unknown = []string{"internal/data/table", "internal/plugin/host", "internal/plugin/wire", "report", "internal/output", "internal/run"}

// known are the packages of mechanisms that the program with rows and ledger may hold: what a mechanism and its result are, and which
// releases keys of a job ask for.
var known = []string{"plugins/sdk", "plugins/asked", "plugins/columns"}

// notInMechanisms are packages that the program of the mechanisms does without.
var notInMechanisms = []string{"ledger", "report", "internal/run", "internal/job", "internal/plan", "internal/planned", "internal/data", "internal/pipeline",
	"internal/plugin/host", "internal/command"}

// The program that holds rows and ledger holds no mechanism, and the one that holds the mechanisms neither.
func TestMechanismsAreApart(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		for _, d := range p.Deps {
			name := strings.TrimPrefix(d, module)
			switch p.name() {
			case "cmd/dprelease", "pipeline":
				if in(name, "plugins") && !slices.Contains(known, name) {
					t.Errorf("%s reaches %s", p.name(), d)
				}
			case "cmd/dprelease-mechanisms":
				if in(name, notInMechanisms...) {
					t.Errorf("%s reaches %s", p.name(), d)
				}
			}
		}
		if in(p.name(), "cmd/dprelease", "pipeline", "cmd/dprelease-mechanisms") {
			seen++
		}
	}
	if seen < 3 {
		t.Errorf("only %d programs were looked at", seen)
	}
}

func TestFloors(t *testing.T) {
	floor := map[string]int{}
	for i, names := range floors {
		for _, n := range names {
			floor[module+n] = i + 1
		}
	}
	seen := 0
	for _, p := range packages(t) {
		mine, ok := floor[p.ImportPath]
		if ok {
			seen++
		}
		for _, d := range p.Deps {
			if theirs := floor[d]; ok && theirs >= mine {
				t.Errorf("%s reaches %s, which is not below it", p.name(), d)
			}
			if below := in(p.name(), "privacy", "samplers", "report", "ledger", "internal/data/table", "internal/plugin/host", "internal/job"); below && floor[d] > 0 {
				t.Errorf("%s reaches %s, which stands above it", p.name(), d)
			}
			if p.name() == "internal/plan" && in(strings.TrimPrefix(d, module), unknown...) {
				t.Errorf("%s reaches %s: a plan sees the job, public facts and the words of the mechanisms", p.name(), d)
			}
		}
	}
	if seen != len(floor) {
		t.Errorf("%d of %d packages with a floor were found", seen, len(floor))
	}
}

// transport lists packages that nobody who writes or tests a mechanism compiles: only a plugin that
// serves does, through plugins/sdk/serve.
var transport = []string{"google.golang.org", "github.com/hashicorp", "github.com/apache", module + "internal/plugin/wire", module + "plugins/sdk/serve"}

func TestMechanismsAreWithoutTransport(t *testing.T) {
	checked := 0
	for _, p := range packages(t) {
		if !in(p.name(), "plugins", "internal/plugin/calls") || in(p.name(), "plugins/sdk/serve") {
			continue
		}
		checked++
		for _, d := range p.Deps {
			if in(d, transport...) {
				t.Errorf("%s reaches %s", p.name(), d)
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d packages were looked at", checked)
	}
}

func TestImportRules(t *testing.T) {
	for _, p := range packages(t) {
		for _, i := range p.Imports {
			for _, rule := range only {
				if in(i, rule.path) && !in(p.name(), rule.may...) {
					t.Errorf("%s imports %s; only %v may", p.name(), i, rule.may)
				}
			}
		}
		for _, d := range p.Deps {
			for _, rule := range never {
				if in(p.name(), rule.from) && in(d, rule.to) {
					t.Errorf("%s reaches %s", p.name(), d)
				}
			}
			// The language of events reads YAML; the rest of the calculus stands alone, with what gonum itself needs.
			if d == "golang.org/x/tools/container/intsets" && (in(p.name(), "privacy/periods", "privacy/step") || !in(p.name(), "privacy")) {
				continue
			}
			if in(p.name(), "privacy") && !in(p.name(), "privacy/expr") && strings.Contains(d, ".") && !strings.HasPrefix(d, module+"privacy") && !in(d, module+"internal/calculus") &&
				!strings.HasPrefix(d, "gonum.org/v1/gonum") && !strings.HasPrefix(d, "vendor/") && strings.Contains(strings.Split(d, "/")[0], ".") {
				t.Errorf("%s reaches %s: standard library and gonum only", p.name(), d)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		main := len(p.GoFiles) == 1 && p.GoFiles[0] == "main.go"
		if _, err := os.Stat(filepath.Join(p.Dir, "doc.go")); err != nil && !main {
			t.Errorf("%s has no doc.go", p.name())
		}
	}
}
