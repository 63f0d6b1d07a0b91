package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/author"
	"github.com/dprelease/dprelease/internal/command"
)

// pages are all pages of the documentation.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := filepath.Join("..", "..")
	read := func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(b)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		read(filepath.Join(root, name))
	}
	for _, folder := range []string{"docs", "specs", "examples", "lab/studies"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".md" {
				read(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 40 {
		t.Fatalf("only %d pages", len(out))
	}
	return out
}

// block is one fenced block of a page.
type block struct{ language, text, before string }

var fence = regexp.MustCompile("(?ms)^( *)```([a-z]*)[^\n]*\n(.*?)^ *```$")

func blocks(page string) (out []block) {
	at := 0
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		before := strings.TrimSpace(page[at:m[0]])
		if i := strings.LastIndex(before, "\n\n"); i >= 0 {
			before = before[i:]
		}
		indent, text := page[m[2]:m[3]], page[m[6]:m[7]]
		if indent != "" {
			text = strings.ReplaceAll("\n"+text, "\n"+indent, "\n")[1:]
		}
		out = append(out, block{page[m[4]:m[5]], text, before})
		at = m[1]
	}
	return out
}

// Every YAML block of the documentation is YAML, and a whole job in it is a job: without a
// problem but those of files that are not there.
func TestDocsYAML(t *testing.T) {
	jobs := 0
	for path, page := range pages(t) {
		for _, b := range blocks(page) {
			if b.language != "yaml" {
				continue
			}
			var v yaml.Node
			if err := yaml.Unmarshal([]byte(b.text), &v); err != nil {
				t.Errorf("%s: %v\n%s", path, err, b.text)
			}
			if !strings.HasPrefix(b.text, "version: 1\n") || !strings.Contains(b.text, "\nreleases:") {
				continue
			}
			jobs++
			file := filepath.Join(t.TempDir(), "job.yaml")
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			env := func(name string) (string, bool) { return "/tmp", name != "" }
			if _, err := (pipelineJobs{}).load(file, env, nil); err != nil {
				for _, p := range command.ProblemsOf(err) {
					if p.Path != "dataset.source.path" && !strings.Contains(p.Message, "no such file") {
						t.Errorf("%s: %v", path, p)
					}
				}
				if command.ProblemsOf(err) == nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
	if jobs < 4 {
		t.Errorf("only %d jobs", jobs)
	}
}

var saved = regexp.MustCompile("[Ss]ave this as `([^`]+)`")

// The pages that a beginner follows work as they stand: their files are written and their
// commands are run, in order.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	companions := t.TempDir()
	build := exec.Command("go", "build", "-C", "../../publish", "-o", filepath.Join(companions, publisher.Name), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, page := range []string{"start.md", "how-to/several-tables.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		ran := 0
		for _, b := range blocks(string(text)) {
			switch m := saved.FindStringSubmatch(b.before); {
			case m != nil:
				if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(b.text), 0o600); err != nil {
					t.Fatal(err)
				}
			case b.language == "sh":
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", b.text)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+string(filepath.ListSeparator)+companions)
				out, err := cmd.CombinedOutput()
				cancel()
				if err != nil {
					t.Fatalf("%s: %v\n%s\n%s", page, err, b.text, out)
				}
				ran++
			}
		}
		if ran < 2 {
			t.Errorf("%s: only %d blocks were run", page, ran)
		}
		if _, err := os.Stat(filepath.Join(dir, "out", "report.html")); err != nil {
			t.Errorf("%s: there is no report", page)
		}
	}
}

// The commands that the pages show are there, with the flags that they show; shell is shell.
func TestDocsShell(t *testing.T) {
	root := (&environment{Environment: &command.Environment{Getenv: os.LookupEnv}, jobs: pipelineJobs{}}).root()
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	designs := author.Commands(&command.Environment{})
	used := regexp.MustCompile("(?m)(?:^|[`$|;&(] ?|^ +)dprelease ([a-z][^\n`|;&>]*)")
	flag := regexp.MustCompile(`(?:^| )(--?[a-z][a-z-]*)`)
	commands := 0
	for path, page := range pages(t) {
		if strings.HasSuffix(path, "commands.md") {
			continue
		}
		for _, m := range used.FindAllStringSubmatch(page, -1) {
			words := strings.Fields(m[1])
			c, _, err := root.Find(words)
			if err == nil && command.Handed(c) && c.Name() != "publish" {
				c, _, err = designs.Find(words)
			}
			if err != nil || c == root || c.DisableFlagParsing {
				continue // a sentence about the program, or publish, which its own tests look at
			}
			commands++
			c.InitDefaultHelpFlag()
			rest := m[1]
			if i := strings.IndexAny(rest, "'\""); i >= 0 {
				rest = rest[:i]
			}
			for _, f := range flag.FindAllStringSubmatch(rest, -1) {
				name := strings.TrimLeft(f[1], "-")
				if strings.HasPrefix(f[1], "--") && c.Flags().Lookup(name) == nil && c.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s: %s has no flag %s: dprelease %s", path, c.CommandPath(), f[1], m[1])
				}
			}
		}
		for _, b := range blocks(page) {
			if b.language != "sh" {
				continue
			}
			cmd := exec.Command("bash", "-n")
			cmd.Stdin = strings.NewReader(b.text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
		}
	}
	if commands < 60 {
		t.Errorf("only %d commands", commands)
	}
}

// docs/commands.md is what the programs say of themselves, and every command has a manual page.
func TestCommandPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	exit, got, errs := reallyRun(t, []string{"man", "--markdown"})
	if exit != command.ExitDone {
		t.Fatal(errs)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil || got != string(want) {
		t.Error("docs/commands.md is not what the programs say: run make generate")
	}
	if exit, _, errs := reallyRun(t, []string{"man", dir}); exit != command.ExitDone {
		t.Fatal(errs)
	}
	for _, name := range []string{"dprelease", "dprelease-run", "dprelease-ledger-show", "dprelease-plugin", "dprelease-plugin-check", "dprelease-publish", "dprelease-report"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil || !strings.Contains(string(b), ".SH NAME") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "dprelease.1")); err != nil || !strings.Contains(string(b), "prices the job") {
		t.Errorf("the page of the program: %v", err)
	}
}

// The commands of a companion that is missing say what to install; so does a study.
func TestCompanionIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, args := range []string{"design t.csv", "init t.csv", "account x", "plugin list", "plan j.yaml --sweep rate", "publish out"} {
		exit, out, errs := try(t.Context(), &story{}, strings.Fields(args)...)
		if exit != command.ExitUsage || out != "" || !strings.Contains(errs, " is missing: it belongs in the folder of dprelease") {
			t.Errorf("%s: exit %d: %s%s", args, exit, out, errs)
		}
	}
	if exit, out, _ := try(t.Context(), &story{}, "plugin", "--help"); exit != 0 || !strings.Contains(out, "Write, check and list mechanisms") {
		t.Errorf("help without the companion: exit %d: %s", exit, out)
	}
}
