package failure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/samplers"
)

// word matches a code. Constants that look so and are none stand in notCodes.
var word = regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$`)

var notCodes = []string{"DPRELEASE_LEDGER", "DPRELEASE_PLUGIN_ID", "NO_COLOR", "CLICOLOR_FORCE", "DPRELEASE_SIGN_PASSWORD"} // environment variables

// Every code that the sources can end a command with is declared, and every declared
// code is one that the sources hold.
func TestEveryCodeIsDeclared(t *testing.T) {
	used := map[string]string{"INTERNAL": "", "OUTPUT": "", "REPORT": "", "INTERRUPTED": "", "USAGE": "", "PANIC": "", "CRASHED": ""}
	for _, dir := range []string{".", "../../plan", "../../run", "../../output", "../../run/budget", "../../run/look", "../../pipeline", "../../../cmd/dprelease", "../../command", "../../author", "../../../ledger", "../../plugin/host", "../../run/engine", "../../../engines/beam/worker", "../../output/stored", "../../../publish"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "codes.go" {
				continue
			}
			for _, w := range wordsIn(t, file) {
				used[w] = file
			}
		}
	}
	for _, c := range sourceCodes() {
		used[c] = "other packages"
	}
	for _, c := range []string{ledger.FoundChain, ledger.FoundBody, ledger.FoundTables, ledger.FoundOverspent, ledger.FoundRolledBack,
		ledger.FoundForked, ledger.FoundAltered, ledger.FoundUndebited, ledger.FoundStored} {
		used["LEDGER_"+upper(c)] = "ledger verify"
	}
	declared := map[string]bool{}
	for _, c := range failure.All {
		if declared[c.Name] {
			t.Errorf("%s is declared twice", c.Name)
		}
		declared[c.Name] = true
		if _, ok := used[c.Name]; !ok {
			t.Errorf("%s is declared, and nothing ends with it", c.Name)
		}
		if c.Meaning == "" || c.Do == "" || !slices.Contains([]failure.Retry{failure.RetryYes, failure.RetryNo, failure.RetryLook}, c.Retry) {
			t.Errorf("%s does not say what it means, what to do or whether to retry", c.Name)
		}
	}
	if len(used) < 80 {
		t.Fatalf("only %d codes were found in the sources", len(used))
	}
	for w, file := range used {
		if !declared[w] && !slices.Contains(notCodes, w) {
			t.Errorf("%s of %s is not declared in codes.go", w, file)
		}
	}
}

// P33: every code that can end a run after a row was read stands on the page of what leaves, with what it tells at most.
func TestEveryAnswerIsListed(t *testing.T) {
	listed := map[string]int{}
	for _, tale := range tales {
		if (tale.When == "") != (tale.Tells == "") {
			t.Errorf("%s: when %q, tells %q", tale.Codes, tale.When, tale.Tells)
		}
		for _, c := range tale.Codes {
			listed[c]++
			if !slices.ContainsFunc(failure.All, func(d failure.Code) bool { return d.Name == c }) {
				t.Errorf("%s is on the page and not declared", c)
			}
		}
	}
	for _, c := range failure.All {
		if listed[c.Name] != 1 {
			t.Errorf("%s is classified %d times in tells_test.go: what does it tell about the table at most?", c.Name, listed[c.Name])
		}
	}
	reads := append(sourceCodes(), "CRASHED", "PANIC", "INTERNAL", "INTERRUPTED")
	for _, dir := range []string{"../../run", "../../run/budget", "../../rows", "../../rows/keys", "../../data/database", "../../../ledger"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				reads = append(reads, wordsIn(t, file)...)
			}
		}
	}
	reads = append(reads, wordsIn(t, "../../pipeline/run.go")...)
	if len(reads) < 80 {
		t.Fatalf("only %d codes were found in what reads rows", len(reads))
	}
	for _, c := range reads {
		tale, ok := tellsOf(c)
		if slices.ContainsFunc(failure.All, func(d failure.Code) bool { return d.Name == c }) && (!ok || tale.Tells == "") {
			t.Errorf("%s can end a run after a row was read, and tells_test.go does not say what it tells", c)
		}
	}
}

// sourceCodes are the codes that other packages make of words of their own.
func sourceCodes() (codes []string) {
	for _, c := range []string{table.CodeNotFound, table.CodeUnreadable, table.CodeCorrupt, table.CodeUnsupported, table.CodeLimit,
		table.CodeSchema, table.CodeColumn, table.CodeChanged, table.CodeUsage, table.CodeUnreachable, table.CodeUntrusted, table.CodeDenied} {
		codes = append(codes, "SOURCE_"+upper(c))
	}
	for _, c := range []samplers.Code{samplers.SizeMismatch, samplers.TooFewRows, samplers.FrameMismatch, samplers.Misuse} {
		codes = append(codes, "SAMPLE_"+upper(string(c)))
	}
	return append(codes, host.Codes()...)
}

func upper(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }

// wordsIn are the string constants of a file that look like codes.
func wordsIn(t *testing.T, file string) (found []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil && word.MatchString(s) {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// After a debit no program may be told to try again by itself, unless the releases are
// stored.
func TestRetryAfterADebit(t *testing.T) {
	for _, c := range failure.All {
		before, after := &failure.Failure{Code: c.Name}, &failure.Failure{Code: c.Name, Spent: failure.SpentRun}
		if before.Cost() != failure.SpentNone || before.Retry() != c.Retry {
			t.Errorf("%s before the debit: spent %s, retry %s", c.Name, before.Cost(), before.Retry())
		}
		if after.Cost() != failure.SpentRun || after.Retry() == failure.RetryYes {
			t.Errorf("%s after the debit: spent %s, retry %s", c.Name, after.Cost(), after.Retry())
		}
	}
	if f := (&failure.Failure{Code: "UNHEARD_OF"}); f.Retry() != failure.RetryLook {
		t.Errorf("an unknown code says retry: %s", f.Retry())
	}
}
