package bindings

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// question is an oracle row that both bindings are asked.
type question struct {
	text         string
	lower, upper float64
}

// questions are some rows of the oracle tables: Gaussian noise on Poisson samples.
func questions(t *testing.T) []question {
	t.Helper()
	f, err := os.Open("../privacy/oracles/oracles.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Table  string
		Inputs struct {
			Q, Sigma, Delta float64
			Steps           int
		}
		Lower, Upper *float64
		Slack        float64 `json:"tol_rel"`
		Room         float64 `json:"tol_abs"`
	}
	if err := json.NewDecoder(z).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	var out []question
	for i, r := range rows {
		if r.Table != "t2b" || i%25 != 0 || r.Lower == nil || r.Upper == nil {
			continue
		}
		out = append(out, question{
			fmt.Sprintf(`{"relation":"add-remove","event":{"repeat":{"n":%d,"event":{"poisson":{"rate":%v,"event":{"gaussian":{"sigma":%v}}}}}},"query":{"delta":%v}}`,
				max(1, r.Inputs.Steps), r.Inputs.Q, r.Inputs.Sigma, r.Inputs.Delta),
			*r.Lower, *r.Upper*(1+r.Slack) + r.Room,
		})
	}
	if len(out) < 5 {
		t.Fatalf("only %d rows", len(out))
	}
	return out
}

// Other languages get the answers that Go gives, and these lie where the oracles say.
func TestOtherLanguages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program for JavaScript and a C library")
	}
	dir := t.TempDir()
	if out, err := exec.Command("bash", "build.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := questions(t)
	texts := make([]string, len(all)+1)
	for i, q := range all {
		texts[i] = q.text
	}
	texts[len(all)] = `{"relation": "add-remove"}` // has no answer
	asked, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	const javascript = `
import { load } from "./dprelease.mjs";
const account = await load();
const answers = JSON.parse(process.argv[2]).map((q) => { try { return JSON.stringify(account(q)); } catch (e) { return "no: " + e.message; } });
console.log(JSON.stringify(answers));
process.exit(0);
`
	if err := os.WriteFile(filepath.Join(dir, "test.mjs"), []byte(javascript), 0o600); err != nil {
		t.Fatal(err)
	}
	const c = `
#include <stdio.h>
#include "dprelease.h"
int main(int n, char **question) {
	for (int i = 1; i < n; i++) {
		char *answer = dprelease_account(question[i]);
		puts(answer);
		dprelease_free(answer);
	}
	return 0;
}
`
	if err := os.WriteFile(filepath.Join(dir, "test.c"), []byte(c), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
	t.Run("JavaScript", func(t *testing.T) {
		if _, err := exec.LookPath("node"); err != nil {
			t.Skip("node is not on this machine")
		}
		var answers []string
		if err := json.Unmarshal(run("node", "test.mjs", string(asked)), &answers); err != nil {
			t.Fatal(err)
		}
		compare(t, all, answers)
		if last := answers[len(all)]; !strings.HasPrefix(last, "no: ") {
			t.Errorf("a question without an event is answered: %s", last)
		}
	})
	t.Run("C", func(t *testing.T) {
		if _, err := exec.LookPath("cc"); err != nil {
			t.Skip("there is no C compiler on this machine")
		}
		run("cc", "-o", "test", "test.c", "-L.", "-ldprelease", "-Wl,-rpath,.")
		answers := strings.Split(strings.TrimSpace(string(run("./test", texts...))), "\n")
		compare(t, all, answers)
		if last := answers[len(all)]; !strings.HasPrefix(last, `{"error":`) {
			t.Errorf("a question without an event is answered: %s", last)
		}
	})
}

func compare(t *testing.T, all []question, answers []string) {
	t.Helper()
	if len(answers) != len(all)+1 {
		t.Fatalf("%d answers to %d questions", len(answers), len(all)+1)
	}
	for i, q := range all {
		var here, there struct{ Epsilon float64 }
		if err := json.Unmarshal([]byte(Answer(q.text)), &here); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(answers[i]), &there); err != nil {
			t.Fatalf("%s: %v", answers[i], err)
		}
		// Other processors may round the last digits of a power otherwise.
		if d := there.Epsilon - here.Epsilon; d > 1e-9*here.Epsilon || d < -1e-9*here.Epsilon || there.Epsilon < q.lower || there.Epsilon > q.upper {
			t.Errorf("%s: ε %v, here %v, the oracle has %v to %v", q.text, there.Epsilon, here.Epsilon, q.lower, q.upper)
		}
	}
}
