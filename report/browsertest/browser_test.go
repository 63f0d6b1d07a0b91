package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/storedtest"
	"github.com/dprelease/dprelease/report"
)

// missing fails in CI and skips elsewhere.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing; .ci/run installs it", what)
	}
	t.Skipf("%s is missing: the report is not opened in a browser", what)
}

func browser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the fast tier starts no browser")
	}
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "Chromium")
	return ""
}

// pages writes the pages of the report's fixtures.
func pages(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for _, name := range []string{"schools", "response", "series", "onepass"} {
		var r report.Report
		var values map[string]report.Table
		for file, into := range map[string]any{"report.json": &r, "values.json": &values} {
			b, err := os.ReadFile(filepath.Join("..", "testdata", name, file))
			if err == nil {
				err = json.Unmarshal(b, into)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		p, err := report.NewPage(&r)
		if err != nil {
			t.Fatal(err)
		}
		var b, public bytes.Buffer
		if err := p.WriteHTML(&b, &public, &r, values); err != nil {
			t.Fatal(err)
		}
		if name == "response" {
			b = public
		}
		path := filepath.Join(dir, name+".html")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	out = append(out, studies(t, dir)...)
	out = append(out, published(t, dir)...)
	return append(out, broken(t, out[0]))
}

// published are the pages that the companion makes from runs that are over: a comparison, and hazards.
func published(t *testing.T, dir string) []string {
	t.Helper()
	fixture := filepath.Join("..", "testdata", "schools")
	a := storedtest.Folder(t, fixture, nil)
	b := storedtest.Folder(t, fixture, func(r *report.Report, _ map[string]report.Table) {
		r.Releases[0].Where, r.Dataset.Population = "x > 1", 7000
	})
	program := filepath.Join(dir, "dprelease-publish")
	if out, err := exec.Command("go", "build", "-C", "../../publish", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compared, hazards := filepath.Join(dir, "compare.html"), filepath.Join(a, "hazards.html")
	for _, args := range [][]string{{"compare", a, b, "--html", compared}, {"nist", a}} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("publish %v: %v\n%s", args, err, out)
		}
	}
	return []string{compared, hazards}
}

// studies are the pages of the planner, as the program writes them.
func studies(t *testing.T, dir string) []string {
	t.Helper()
	program := filepath.Join(dir, "dprelease")
	// A folder takes all programs: mechanisms, and studies of a plan, are those of the ones beside it.
	build := exec.Command("go", "build", "-o", filepath.Dir(program)+"/",
		"../../cmd/dprelease", "../../cmd/dprelease-mechanisms", "../../cmd/dprelease-design")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var pages []string
	for name, args := range map[string][]string{
		"plan-sweep":   {"../../examples/schools/job.yaml", "--sweep", "rate"},
		"plan-epsilon": {"../../examples/median/job.yaml", "--sweep", "epsilon", "--points", "3"},
		"plan-solve":   {"../../examples/schools/job.yaml", "--solve", "rse<2%"},
		"plan-compare": {"../../examples/schools/job.yaml", "--compare"},
	} {
		page := filepath.Join(dir, name+".html")
		cmd := exec.Command(program, append([]string{"plan", "--quiet", "--html", page}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("plan %v: %v\n%s", args, err, out)
		}
		pages = append(pages, page)
	}
	return pages
}

// broken makes a page with faults that the browser must find: the check is
// itself checked.
func broken(t *testing.T, good string) string {
	t.Helper()
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), `<html lang="en">`, "<html>", 1)
	text = strings.Replace(text, "</main>", `<p id="wide"><img src="missing.png"><table><tr><td><svg viewBox="0 0 10 10"></svg></td></tr></table></p></main>`, 1)
	path := filepath.Join(filepath.Dir(good), "broken.html")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// result is one line of check.mjs.
type result struct {
	Page     string   `json:"page"`
	Mode     string   `json:"mode"`
	Figures  int      `json:"figures"`
	Rules    int      `json:"rules"`
	Sheets   int      `json:"sheets"`
	Problems []string `json:"problems"`
}

func TestPagesInChromium(t *testing.T) {
	chromium := browser(t)
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "node")
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		missing(t, "node_modules (npm ci in report/browsertest)")
	}
	files := pages(t)
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, append([]string{"check.mjs", chromium, os.Getenv("SCREENSHOTS")}, files...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	seen := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		seen[r.Page+" "+r.Mode] = true
		if r.Page == "broken.html" {
			found := strings.Join(r.Problems, "\n")
			for _, fault := range []string{"missing.png", "axe html-has-lang", "no title or description"} {
				if !strings.Contains(found, fault) {
					t.Errorf("broken.html, %s: %q was not found among\n%s", r.Mode, fault, found)
				}
			}
			continue
		}
		for _, p := range r.Problems {
			t.Errorf("%s, %s: %s", r.Page, r.Mode, p)
		}
		figures, sheets := 2, 2
		if strings.HasPrefix(r.Page, "plan-") { // a study has one figure at most
			figures, sheets = 0, 1
			if r.Page == "plan-sweep.html" || r.Page == "plan-compare.html" {
				figures = 1
			}
		}
		switch r.Page {
		case "compare.html", "ledger.html", "hazards.html":
			figures, sheets = 0, 1
		case "schools.html":
			if r.Mode == "print" && r.Sheets > 4 {
				t.Errorf("the demo has %d printed pages, more than 4", r.Sheets)
			}
		}
		if r.Figures < figures || r.Rules < 20 || r.Mode == "print" && r.Sheets < sheets {
			t.Errorf("%s, %s: only %d figures, %d rules, %d sheets", r.Page, r.Mode, r.Figures, r.Rules, r.Sheets)
		}
	}
	for _, f := range files {
		for _, mode := range []string{"light", "dark", "phone", "print"} {
			if what := fmt.Sprintf("%s %s", filepath.Base(f), mode); !seen[what] {
				t.Errorf("%s was not looked at", what)
			}
		}
	}
}
