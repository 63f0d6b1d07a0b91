package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A person designs a job for a CSV file of their own in Chromium: in under ten clicks check finds no problem.
func TestDesignInChromium(t *testing.T) {
	chromium := browser(t)
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "node")
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		missing(t, "node_modules (npm ci in report/browsertest)")
	}
	dir := t.TempDir()
	for _, program := range []string{"dprelease", "dprelease-mechanisms", "dprelease-design"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, program), "../../cmd/"+program).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	table := filepath.Join(dir, "visits.csv")
	if err := os.WriteFile(table, []byte("patient;region;cost;\"a \"\"<b>\"\" & 'c'\"\n1;north;1234567;x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	served := exec.CommandContext(ctx, filepath.Join(dir, "dprelease"), "design", "visits.csv")
	served.Dir = dir
	served.Cancel = func() error { return served.Process.Signal(os.Interrupt) }
	served.Stderr = os.Stderr
	out, err := served.StdoutPipe()
	if err == nil {
		err = served.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "http://127.0.0.1:") {
			address = line
		}
	}
	cmd := exec.CommandContext(ctx, node, "design.mjs", chromium, os.Getenv("SCREENSHOTS"), address)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	cancel()
	if err := served.Wait(); served.ProcessState.ExitCode() != 130 {
		t.Errorf("the command that was interrupted ended with %v", err)
	}
	var got struct {
		Problems       []string   `json:"problems"`
		Clicks         int        `json:"clicks"`
		Moved          [][]string `json:"moved"`
		Study, Picture string
		Lines, Dots    int
	}
	if err := json.Unmarshal(said, &got); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, p := range got.Problems {
		t.Error(p)
	}
	t.Logf("%d clicks; ε moved: %v\n%s\n%s", got.Clicks, got.Moved, got.Study, got.Picture)
	if got.Clicks == 0 || got.Clicks >= 10 {
		t.Errorf("%d clicks", got.Clicks)
	}
	if got.Lines != 3 || got.Dots != 3 || !strings.Contains(got.Picture, "INVENTED") || strings.Contains(got.Picture, "1234567") || !strings.Contains(got.Study, "Whole table") {
		t.Errorf("the picture has %d lines and %d dots:\n%s\n%s", got.Lines, got.Dots, got.Picture, got.Study)
	}
	if out, err := exec.Command(filepath.Join(dir, "dprelease"), "check", filepath.Join(dir, "visits.yaml")).CombinedOutput(); err != nil {
		t.Errorf("check of the saved job: %v\n%s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 { // three programs, the table and the job
		t.Errorf("the folder holds %v: something was run, or spent", entries)
	}
}
