package author

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/command"
	"go.uber.org/goleak"
)

// The program serves the page for a table until it is stopped, and leaves nothing behind.
func TestServesUntilItIsStopped(t *testing.T) {
	defer goleak.VerifyNone(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("people.csv", []byte("secret-name,age\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- ask(ctx, w, "design", "--", "people.csv"); w.Close() }()
	address := ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "http://") {
			address = line
		}
		if strings.HasPrefix(lines.Text(), "open the address") {
			break
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(b), "people.yaml") || strings.Contains(string(b), "secret-name") {
		t.Errorf("%v, %d:\n%s", err, answer.StatusCode, b)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
}

// ask runs one command line.
func ask(ctx context.Context, out io.Writer, args ...string) error {
	var said strings.Builder
	e := &command.Environment{In: strings.NewReader(""), Out: out, Errw: &said, Getenv: os.LookupEnv, Load: command.Load}
	if Execute(ctx, e, args) != command.ExitDone {
		return errors.New(said.String())
	}
	return nil
}

// A job that is there is not begun anew by mistake.
func TestRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("people.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"people.csv":           "people.yaml is there already: open it with dprelease design people.yaml",
		"data/people.parquet/": "people.yaml is there already",
		"a b":                  "accepts at most 1 arg",
		"--port 80":            "unknown flag: --port",
	} {
		if err := ask(t.Context(), io.Discard, append([]string{"design"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// What programs read stays as it is, however wide the terminal.
func TestLinesOfTheAccountant(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	var out bytes.Buffer
	if err := ask(t.Context(), &out, "account", "--json", "relation: add-remove\nevent: {gaussian: {sigma: 2}}\nquery: {delta: 1e-6}"); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v: %q", err, out.String())
	}
}
