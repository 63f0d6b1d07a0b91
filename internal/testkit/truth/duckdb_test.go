package truth

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
)

// duckdb is a running DuckDB.
type duckdb struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

// startDuckDB starts DuckDB under node. Where it is missing, the test fails in CI and is left out elsewhere.
func startDuckDB(t *testing.T) *duckdb {
	t.Helper()
	if testing.Short() {
		t.Skip("the fast tier starts no DuckDB")
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("node_modules/@duckdb/node-api")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("node or DuckDB is missing; .ci/run installs them")
		}
		t.Skip("node or DuckDB is missing (npm ci in internal/testkit/truth): no release is compared with it")
	}
	c := exec.Command(node, "duckdb.mjs")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &duckdb{in: in, out: bufio.NewReader(out)}
}

// ask returns the rows of a query, its values as text or nil.
func (d *duckdb) ask(t *testing.T, query string) []map[string]any {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	line, err := json.Marshal(query)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := d.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rows  []map[string]any
		Error string
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.Error != "" {
		t.Fatalf("%v %s\n%s", err, got.Error, query)
	}
	return got.Rows
}

// number is a value of an answer: whole numbers beyond 32 bits come as text.
func number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case string:
		f, err := strconv.ParseFloat(x, 64)
		return f, err == nil
	}
	return 0, false
}
