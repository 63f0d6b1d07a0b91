//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/command"
)

// bird stands in files that are no job; nothing that the program prints may hold a part of it.
const bird = "Kanarienvogel98712365"

// leak finds the bird, however it was written.
var leak = regexp.MustCompile(`(?i)kanarien|98712365`)

// sayJob is a job whose parts are replaced by a role.
const sayJob = `version: 1
job: strange
dataset:
  id: people
  source: {path: %SOURCE%}
  relation: %RELATION%
  %DATA%
  columns:
    age: {lower: 0, upper: 100, missing: drop}
    zone: {type: text}
budget:
  ledger: %LEDGER%
  limit: {epsilon: "1", delta: "0"}
%ROOT%
releases:
  - {name: ages, %FROM% mechanism: %MECHANISM%, params: {column: age}, guarantee: {epsilon: "0.5"}%ASSUME%}
output: {dir: out}
`

// roles are the parts that a file of the user's can play in a job.
var roles = map[string]map[string]string{
	"source":  {"SOURCE": "%F%"},
	"csv":     {"SOURCE": "%F%, delimiter: ;"},
	"ledger":  {"LEDGER": "sqlite:%F%"},
	"lookup":  {"DATA": "lookups: {zones: {path: %F%, key: zone, columns: {region: {domain: [north, south]}, size: {lower: 0, upper: 9}}}}"},
	"catalog": {"ROOT": "catalog: %F%", "MECHANISM": "other@1.0"},
	"plugin":  {"ROOT": "plugins: {other: {path: %F%, sha256: " + strings.Repeat("0", 64) + "}}", "MECHANISM": "other"},
	"pilot":   {"ASSUME": ", assume: {distribution: pilot, pilot: %F%, column: age}"},
	"frame": {"DATA": "size: 100\n  frame: {path: %F%, records: n}", "RELATION": "replace-one", "FROM": "from: geo,",
		"ROOT": "samples: {geo: {method: multistage, stages: [{unit: zone, take: 1}, {take: 1}]}}"},
}

// roleOf is the job in which a file plays a role.
func roleOf(role, path string) string {
	text := sayJob
	for key, other := range map[string]string{"SOURCE": "people.csv", "RELATION": "add-remove", "LEDGER": "sqlite:l.db", "DATA": "", "ROOT": "", "FROM": "", "ASSUME": "", "MECHANISM": "mean"} {
		if said := roles[role][key]; said != "" {
			other = said
		}
		text = strings.ReplaceAll(text, "%"+key+"%", other)
	}
	return strings.ReplaceAll(text, "%F%", path)
}

// commandsFor returns the command lines that read a file of the user's, each with the jobs that they need.
func commandsFor(t *testing.T, dir, path string) map[string][]string {
	t.Helper()
	all := map[string][]string{
		"job check": {"check", path}, "job check --json": {"check", "--json", path}, "job plan": {"plan", path}, "job plan --json": {"plan", "--json", path},
		"job run": {"run", path}, "job run --json": {"run", "--json", path}, "job look": {"check", "--data", path},
		"job show": {"ledger", "show", path}, "account": {"account", "-f", path}, "account --json": {"account", "--json", "-f", path},
		"account --jsonl": {"account", "--jsonl", "-f", path}, "chain": {"ledger", "verify", "--chain", path}, "ledger": {"ledger", "verify", "sqlite:" + path},
		"charge":  {"ledger", "charge", "sqlite:" + filepath.Join(dir, "l.db"), "--dataset", "people", "--relation", "add-remove", "--from", path, "--reason", "test"},
		"plugins": {"plugin", "list", "--catalog", path}, "verified": {"plugin", "verify", "--catalog", path},
		"key": {"plugin", "verify", "--catalog", filepath.Join(dir, "catalog.json"), "--key", path}, "examined": {"plugin", "check", path},
		"added": {"plugin", "add", path, "--catalog", filepath.Join(dir, "new.json"), "--expires", "2090-01-01"},
	}
	for role := range roles {
		job := filepath.Join(dir, role+".yaml")
		if err := os.WriteFile(job, []byte(roleOf(role, path)), 0o600); err != nil {
			t.Fatal(err)
		}
		if testing.Short() {
			all[role+" run"] = []string{"run", job}
			continue
		}
		for name, verb := range map[string][]string{"check": {"check"}, "plan": {"plan", "--json"}, "compare": {"plan", "--compare"}, "run": {"run"}, "look": {"check", "--data"}} {
			all[role+" "+name] = append(verb, job)
		}
	}
	return all
}

// begin makes the folder of a test with what its command lines need.
func begin(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"people.csv": "age,zone\n30,a\n40,b\n", "catalog.json": `{"version": 1, "plugins": []}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"ledger", "init", "sqlite:" + filepath.Join(dir, "l.db"), "--dataset", "people", "--relation", "add-remove", "--epsilon", "9", "--delta", "0"}} {
		if exit, out, errs := reallyRun(t, args); exit != 0 {
			t.Fatalf("%v: exit %d\n%s%s", args, exit, out, errs)
		}
	}
	return dir
}

// reallyRun runs one command line in this process, and fails where it does not end.
func reallyRun(t *testing.T, args []string) (exit int, out, errs string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	done := make(chan int, 1)
	go func() {
		env := &environment{Environment: &command.Environment{In: strings.NewReader(""), Out: &o, Errw: &e, Getenv: nothingSet, Self: self}, jobs: pipelineJobs{}}
		done <- env.execute(ctx, args)
	}()
	select {
	case exit = <-done:
		return exit, o.String(), e.String()
	case <-time.After(4 * time.Minute):
		t.Fatalf("%v does not end", args)
	}
	return 0, "", ""
}

// inOwnProcess reports whether this is a process that runs only this subtest. If not, it starts one, beside those of other
// subtests, and fails where that fails: a job in this process takes all its children for plugins, and ends them.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	const inside = "DPRELEASE_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		return true
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	only := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$"
	cmd := exec.Command(self, "-test.v", "-test.timeout=30m", "-test.run="+only, fmt.Sprint("-test.short=", testing.Short()))
	cmd.Env = append(os.Environ(), inside+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name()+" ")) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Private rows in the wrong place stay there: whatever command meets them in whatever role, it quotes none. // P33
func TestNothingIsQuoted(t *testing.T) {
	files := map[string]string{
		"persons.csv":   "name;diag\nMaria " + bird + ";HIV\nJan;" + bird + "\n",
		"headless.csv":  bird + ",1,age2\nzone" + bird + ",2,b\n",
		"one.txt":       bird + " Maria\n",
		"record.yaml":   bird + ": HIV\njob: " + bird + "\nage: 9\n",
		"anchor.yaml":   "a: *" + bird + "\n",
		"record.json":   `{"name": "` + bird + `", "diag": [` + bird + `]}`,
		"rows.jsonl":    `{"name": "` + bird + `"}` + "\n" + `{"event": "` + bird + `"}` + "\n",
		"list.json":     `["` + bird + `"]`,
		"binary":        "\x00\x01" + bird + "\xff",
		"par.parquet":   "PAR1" + bird + "PAR1",
		"arrow.arrow":   "ARROW1\x00\x00" + bird,
		"keys.csv":      "zone,region,size\n" + bird + ",north,1\n" + bird + ",south,2\n",
		"regions.csv":   "zone,region,size\na," + bird + ",1\nb,north," + bird + "\nc,north,98712365\n",
		"fields.csv":    "zone,region,size\na,b,c," + bird + "\n\"" + bird + "\n",
		"units.csv":     "zone,n\n" + bird + ",98712365x\n",
		"sizes.csv":     "zone,n\n" + bird + ",98712365\n",
		"twice.csv":     "zone,n\n" + bird + ",98712365\n" + bird + ",98712365\n",
		"age.csv":       "age,zone\n" + bird + ",\"" + bird + "\n",
		"ages.csv":      "agee," + bird + "\n98712365,98712365\n",
		"charge.csv":    "slice,epsilon,delta\n" + bird + "," + bird + ",0\n",
		"catalog.json":  `{"version": 1, "plugins": [{"name": "` + bird + `", "version": "` + bird + `"}], "` + bird + `": 1}`,
		"catalog9.json": `{"version": "` + bird + `", "plugins": []}`,
		"script":        "#!/usr/bin/env " + bird + "\n" + bird + "\n",
		"chain.jsonl":   `{"seq": 1, "kind": "` + bird + `", "prev": "` + bird + `", "body": {"x": "` + bird + `"}}` + "\n",
	}
	for name, text := range files {
		if testing.Short() && name != "record.yaml" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if !inOwnProcess(t) {
				return
			}
			dir := begin(t)
			path := filepath.Join(dir, "x-"+name)
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			for what, args := range commandsFor(t, dir, path) {
				if name == "script" && (what == "added" || what == "examined") {
					continue // they run it on made-up rows, and show its author what it prints (TestFaultsAreSeen)
				}
				_, out, errs := reallyRun(t, args)
				if at := leak.FindStringIndex(out + errs); at != nil {
					t.Errorf("%s: dprelease %v quotes the file:\n%s%s", what, args, out, errs)
				}
			}
			// A folder of releases whose report is such a file.
			folder := filepath.Join(dir, "folder")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "report.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"report", folder}, {"ledger", "verify", "sqlite:" + filepath.Join(dir, "l.db"), "--releases", dir}} {
				if _, out, errs := reallyRun(t, args); leak.MatchString(out + errs) {
					t.Errorf("dprelease %v quotes the file:\n%s%s", args, out, errs)
				}
			}
		})
	}
}

// A path that names no file of a bearable size is refused at once in every role, and nothing waits for it.
func TestStrangeFiles(t *testing.T) {
	for kind, with := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				l.(*net.UnixListener).SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"sparse": func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			return errorsOf(f.Truncate(1<<40), f.Close())
		},
	} {
		if testing.Short() && kind != "sparse" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			if !inOwnProcess(t) {
				return
			}
			dir := begin(t)
			path := filepath.Join(dir, "x")
			if err := with(path); err != nil {
				t.Fatal(err)
			}
			for what, args := range commandsFor(t, dir, path) {
				start := time.Now()
				exit, out, errs := reallyRun(t, args)
				if took := time.Since(start); took > time.Minute {
					t.Errorf("%s: dprelease %v took %v", what, args, took)
				}
				unused := strings.HasSuffix(what, "check") || strings.HasSuffix(what, "plan") || strings.HasSuffix(what, "compare")
				if exit == 0 && !unused && !strings.HasPrefix(what, "pilot") && what != "account --jsonl" {
					t.Errorf("%s: dprelease %v takes a %s for a file:\n%s%s", what, args, kind, out, errs)
				}
			}
		})
	}
}

// errorsOf is the first of some errors.
func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return fmt.Errorf("the file cannot be made: %w", err)
		}
	}
	return nil
}
