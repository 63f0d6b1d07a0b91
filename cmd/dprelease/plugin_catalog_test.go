package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/plugin/conformance"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// The board's keys. The secret one is encrypted with the password "open sesame" at the least cost that its format knows:
// minisign's own takes 4 s and 1 GB each time that a command reads the key.
const (
	boardPublic = "RWQOgfQVDN63lZtzELpD5xPoNKS1XJQk641VdsXOmb4TgXw1BHp0oln9"
	boardSecret = "untrusted comment: minisign encrypted secret key\n" +
		"RWRTY0IymZNduBDPadxyJ5cZJ4zL94dxrjEYHRtJK0+MvFnN+fAAgAAAAAAAAAAAAAEAAAAA9uAO4EeMqZ9XXJ4LQzmgTvrlkSvVjrxXq1c0gq/l" +
		"FWseqvL73BNj0jXTAwDY725zH0Z/TxAEMxNK3CGZMwI62w5dotVtYoZAS8yeUVcNC6uOUsYd7376DhR57+b+/XhjMVR8aQDEA5M="
)

// TestCatalog is the story of a plugin that somebody approves: it is checked, kept, named
// by a job, shown, changed by somebody else, and taken out again.
func TestCatalog(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	bin, file := filepath.Join(dir, "trimmed-mean"), filepath.Join(dir, "catalog.json")
	goRun(t, root+"/examples/plugins/trimmed-mean", "build", "-ldflags=-s", "-o", bin, ".")
	var public minisign.PublicKey
	if err := public.UnmarshalText([]byte(boardPublic)); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "key")
	_, other, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := other.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(dir, "stranger")
	for path, text := range map[string][]byte{key: []byte(boardSecret), stranger: plain, file + ".pub": []byte(public.String())} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add := []string{"plugin", "add", bin, "--catalog", file, "--pairs", "3"}

	noKey := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(noKey, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"is too large":     append(add[:len(add):len(add)], "--sign", bin),
		"no secret key":    append(add[:len(add):len(add)], "--sign", noKey),
		"takes only what":  add,
		"not that of the":  append(add[:len(add):len(add)], "--sign", key), // with another password
		"not the key of":   append(add[:len(add):len(add)], "--sign", stranger),
		"a day to come":    append(add[:len(add):len(add)], "--expires", "2001-01-01"),
		"no such file":     {"plugin", "add", dir + "/nobody", "--catalog", file + "2"},
		"one executable":   {"plugin", "add", root + "/docs", "--catalog", file + "2"},
		"was refuted":      {"plugin", "add", "/bin/true", "--catalog", file + "2"},
		"did not finish":   {"plugin", "add", bin, "--catalog", file + "2", "--for", "1ms"},
		"holds no plugin":  {"plugin", "show", "x@1", "--catalog", file},
		"required flag":    {"plugin", "verify"},
		"no such file or ": {"plugin", "verify", "--catalog", file + "3"},
	} {
		t.Setenv("DPRELEASE_SIGN_PASSWORD", "wrong")
		if exit, _, stderr := commandLine(t, args...); exit == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s", args, exit, stderr)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "plugins", "*")); len(left) > 0 {
		t.Errorf("what was not approved is kept: %v", left)
	}

	t.Setenv("DPRELEASE_SIGN_PASSWORD", "open sesame")
	exit, _, stderr := commandLine(t, append(add, "--sign", key, "--by", "board", "--json")...)
	if exit != 0 {
		t.Fatalf("add: exit %d: %s", exit, stderr)
	}
	exit, stdout, stderr := commandLine(t, "plugin", "show", "trimmed-mean@1.0.0", "--catalog", file, "--json")
	var e catalog.Entry
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || exit != 0 || e.By != "board" || e.Check.Verdict != "NOT REFUTED" || !strings.HasPrefix(e.Check.Sandbox, "full") {
		t.Fatalf("show: exit %d, %v, %+v, %s", exit, err, e, stderr)
	}
	// Anybody can verify what list prints, with minisign alone.
	_, signed, _ := commandLine(t, "plugin", "list", "--catalog", file, "--signed")
	var whole catalog.Catalog
	copied, err := os.ReadFile(file)
	if err = errors.Join(err, json.Unmarshal(copied, &whole)); err != nil {
		t.Fatal(err)
	}
	if !minisign.Verify(public, []byte(signed), []byte(whole.Signature)) {
		t.Error("what is signed is not what list prints")
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.Dir(e.Path), "check.html")); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"list"}, {"verify"}, {"verify", "--key", file + ".pub"}} {
		if exit, stdout, stderr := commandLine(t, append([]string{"plugin"}, append(args, "--catalog", file)...)...); exit != 0 || !strings.Contains(stdout, "trimmed-mean@1.0.0") {
			t.Errorf("%v: exit %d: %s%s", args, exit, stdout, stderr)
		}
	}

	job := filepath.Join(dir, "job.yaml")
	data, err := filepath.Abs(root + "/examples/data/schools.parquet")
	if err != nil {
		t.Fatal(err)
	}
	text := `version: 1
job: approved
dataset: {id: schools, source: {path: ` + data + `}, relation: replace-one, size: 6194, unit: row, columns: {api00: {lower: 200, upper: 1000}}}
budget: {limit: {epsilon: "9"}}
catalog: catalog.json
sandbox: required
releases: [{name: r, mechanism: trimmed-mean@1.0.0, params: {column: api00, trim: 0.05}, guarantee: {epsilon: "1"}}]
output: {dir: out, formats: [csv]}
`
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, _, stderr := commandLine(t, "run", job); exit != 0 {
		t.Fatalf("run: exit %d: %s", exit, stderr)
	}
	report, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if err != nil || !bytes.Contains(report, []byte(`"name": "trimmed-mean@1.0.0"`)) || !bytes.Contains(report, []byte(`"sandbox": "full`)) {
		t.Errorf("the report: %v\n%s", err, report)
	}

	// Where the job says that nothing confines it, that is said everywhere.
	loose := filepath.Join(dir, "loose.yaml")
	if err := os.WriteFile(loose, []byte(strings.NewReplacer("job: approved", "job: loose", "sandbox: required", "sandbox: \"off\"", "dir: out", "dir: loose").Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, stdout, stderr = commandLine(t, "run", loose)
	page, err := os.ReadFile(filepath.Join(dir, "loose", "report.html"))
	if exit != 0 || err != nil || !strings.Contains(stderr, "not confined: trimmed-mean@1.0.0") || !strings.Contains(stdout, "not confined") || !bytes.Contains(page, []byte("not confined")) {
		t.Errorf("run without a sandbox: exit %d, %v: %s%s", exit, err, stdout, stderr)
	}
	if exit, stdout, _ = commandLine(t, "run", loose, "--json"); exit != 0 || !strings.Contains(stdout, `"unconfined":["trimmed-mean@1.0.0"]`) {
		t.Errorf("its last line: exit %d: %s", exit, stdout)
	}

	f, err := os.OpenFile(filepath.Join(dir, e.Path), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("x")
	f.Close()
	if exit, stdout, _ := commandLine(t, "plugin", "verify", "--catalog", file); exit != 5 || !strings.Contains(stdout, "has changed") {
		t.Errorf("verify of a changed plugin: exit %d: %s", exit, stdout)
	}
	if exit, _, stderr := commandLine(t, "check", job); exit != 3 || !strings.Contains(stderr, "has changed") {
		t.Errorf("a job with a changed plugin: exit %d: %s", exit, stderr)
	}
	remove := []string{"plugin", "remove", "trimmed-mean@1.0.0", "--catalog", file}
	if exit, _, stderr := commandLine(t, remove...); exit != 5 || !strings.Contains(stderr, "--sign") {
		t.Errorf("remove without the key: exit %d: %s", exit, stderr)
	}
	if exit, _, stderr := commandLine(t, append(remove, "--sign", key)...); exit != 0 {
		t.Errorf("remove: exit %d: %s", exit, stderr)
	}
	if exit, _, stderr := commandLine(t, "check", job); exit != 3 || !strings.Contains(stderr, "not in the catalog") {
		t.Errorf("a job with a plugin that was removed: exit %d: %s", exit, stderr)
	}
	// Put back, the copy from before is refused.
	if err := os.WriteFile(file, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", job}, {"plugin", "verify", "--catalog", file}, append(add, "--sign", key)} {
		if exit, _, stderr := commandLine(t, args...); exit == 0 || !strings.Contains(stderr, "old copy") {
			t.Errorf("%v with an old copy: exit %d: %s", args, exit, stderr)
		}
	}
}

// TestSign: a catalog that nobody signed yet can be signed, once.
func TestSign(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	file, key := filepath.Join(dir, "catalog.json"), filepath.Join(dir, "key")
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := private.MarshalText()
	if err = errors.Join(err, os.WriteFile(key, secret, 0o600), os.WriteFile(file, []byte(`{"version":1,"serial":1,"plugins":[]}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	sign := []string{"plugin", "sign", "--catalog", file, "--sign", key}
	if exit, _, stderr := commandLine(t, sign...); exit != 5 || !strings.Contains(stderr, ".pub") {
		t.Errorf("without a public key: exit %d: %s", exit, stderr)
	}
	if err := os.WriteFile(file+".pub", []byte(public.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if exit, _, stderr := commandLine(t, "plugin", "list", "--catalog", file); exit != 5 || !strings.Contains(stderr, "plugin sign") {
		t.Errorf("unsigned: exit %d: %s", exit, stderr)
	}
	if exit, _, stderr := commandLine(t, sign...); exit != 0 {
		t.Errorf("sign: exit %d: %s", exit, stderr)
	}
	if exit, _, stderr := commandLine(t, "plugin", "verify", "--catalog", file); exit != 0 {
		t.Errorf("signed: exit %d: %s", exit, stderr)
	}
	if exit, _, stderr := commandLine(t, sign...); exit != 5 || !strings.Contains(stderr, "signed already") {
		t.Errorf("signed again: exit %d: %s", exit, stderr)
	}
}

// A name alone stands for no entry where there are several versions.
func TestShowOneOfSeveral(t *testing.T) {
	file := filepath.Join(t.TempDir(), "catalog.json")
	if err := os.WriteFile(file, []byte(`{"version": 1, "serial": 1, "plugins": [{"name": "a", "version": "1"}, {"name": "a", "version": "2"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "holds several versions of a", "b": "holds no plugin b", "a@1": ""} {
		if exit, _, stderr := commandLine(t, "plugin", "show", name, "--catalog", file); (exit == 0) != (want == "") || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d: %s", name, exit, stderr)
		}
	}
}

// TestCheckEnds: a check that is out of time, or interrupted, says what it has found.
func TestCheckEnds(t *testing.T) {
	tier.Full(t, "the package internal/plugin/conformance")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		stop bool
		want string
		exit int
	}{
		"out of time": {[]string{"--for", "300ms"}, false, conformance.OutOfTime, 75},
		"interrupted": {nil, true, conformance.Interrupted, 130},
	} {
		if testing.Short() && c.stop {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "report")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.stop {
				time.AfterFunc(400*time.Millisecond, func() { cancel(command.Interrupted{Signal: syscall.SIGINT}) })
			}
			var out, errw bytes.Buffer
			e := &environment{Environment: &command.Environment{In: strings.NewReader(""), Out: &out, Errw: &errw, Getenv: os.LookupEnv, Self: self}, jobs: pipelineJobs{}}
			exit := e.execute(ctx, append([]string{"plugin", "check", "--builtin", "mean", "--report", dir}, c.args...))
			if exit != c.exit || !regexp.MustCompile("ended early +"+regexp.QuoteMeta(c.want)).Match(out.Bytes()) || !strings.Contains(out.String(), "NOT REFUTED") {
				t.Errorf("exit %d: %s%s", exit, out.String(), errw.String())
			}
			var v struct{ Verdict, Ended, Suite string }
			text, err := os.ReadFile(filepath.Join(dir, "check.json"))
			if err == nil {
				err = json.Unmarshal(text, &v)
			}
			if err != nil || v.Ended != c.want || v.Suite != conformance.Suite {
				t.Errorf("%+v, %v", v, err)
			}
			if page, err := os.ReadFile(filepath.Join(dir, "check.html")); err != nil || !bytes.Contains(page, []byte(c.want)) {
				t.Errorf("check.html: %v", err)
			}
		})
	}
}
