package account

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/privacy/expr"
)

func pureLine(n int) string {
	return fmt.Sprintf(`{"relation":"add-remove","event":{"repeat":{"n":%d,"event":{"pure":{"eps":1}}}},"query":{"delta":0,"methods":["basic"]}}`, n)
}

type reply struct {
	Epsilon float64
	Error   string
}

func replies(t *testing.T, out string) []reply {
	t.Helper()
	var all []reply
	for line := range strings.Lines(out) {
		var r reply
		if !strings.HasSuffix(line, "\n") {
			t.Errorf("a line without an end: %q", line)
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// TestStreamKeepsOrder mixes questions that take long with ones that do not.
func TestStreamKeepsOrder(t *testing.T) {
	var in strings.Builder
	const lines = 500
	for i := 1; i <= lines; i++ {
		if i%50 == 0 {
			in.WriteString(strings.Replace(sgd, "1000", fmt.Sprint(i), 1))
		} else {
			in.WriteString(pureLine(i))
		}
		in.WriteByte('\n')
	}
	code, out, errs := run(strings.TrimSuffix(in.String(), "\n"), Options{JSONL: true})
	got := replies(t, out)
	if code != 0 || errs != "" || len(got) != lines {
		t.Fatalf("exit %d, %d answers, %s", code, len(got), errs)
	}
	for i, r := range got {
		if r.Error != "" || (i+1)%50 != 0 && (r.Epsilon < float64(i+1) || r.Epsilon > float64(i+1)*1.001) {
			t.Errorf("answer %d: %+v", i+1, r)
		}
	}
}

func TestBadLinesCostOnlyThemselves(t *testing.T) {
	long := `{"relation":"` + strings.Repeat("a", expr.MaxBytes) + `"}`
	in := strings.Join([]string{
		pureLine(1), `nonsense`, pureLine(2), `{"relation":"add-remove"`, ``, "  \r", pureLine(3) + "\r", long, pureLine(4),
		`{"relation":"add-remove","event":{"gaussian":{"sigm":1}},"query":{"delta":0}}`,
		strings.Repeat(`{"repeat":{"n":1,"event":`, 1000),
		`{relation: add-remove, event: {pure: {eps: 1}}, query: {delta: 0}}`,
		`[]`, `null`, "\x00", pureLine(5),
		`{"relation":"add-remove","event":{"repeat":{"n":1,"event":{"pure":{"eps":1}}}},"query":{"calibrate":"eps","epsilon":1e-300,"delta":0,"methods":["basic"]}}`,
		pureLine(6),
	}, "\n")
	code, out, errs := run(in, Options{JSONL: true})
	want := []string{"", "stdin:2:", "", "stdin:4:25: is not JSON: unexpected end", "", "stdin:8:1: the line is larger than 1 MiB", "",
		"stdin:10:46: event.gaussian.sigma: is missing; stdin:10:47: event.gaussian.sigm: unknown field", "stdin:11:", "stdin:12:2: is not JSON",
		"stdin:13:1: is not a question: it looks like JSON", "stdin:14:1: is not a question",
		"stdin:15:1: is not a question: it looks like binary data", "",
		"stdin:17:101: query.calibrate: no repeat.event.pure.eps between", ""}
	got := replies(t, out)
	if code != 0 || errs != "" || len(got) != len(want) {
		t.Fatalf("exit %d, %d answers for %d: %s\n%s", code, len(got), len(want), errs, out)
	}
	next := 1.0
	for i, r := range got {
		switch {
		case want[i] == "" && (r.Error != "" || r.Epsilon != next):
			t.Errorf("answer %d: %+v, want ε = %v", i, r, next)
		case want[i] != "" && !strings.Contains(r.Error, want[i]):
			t.Errorf("answer %d: %q, want %q", i, r.Error, want[i])
		}
		if want[i] == "" {
			next++
		}
	}
	if !strings.Contains(got[7].Error, "did you mean sigma?") || !strings.Contains(got[7].Error, "; ") {
		t.Errorf("several problems of a line: %s", got[7].Error)
	}
}

// TestStreamAnswersBeforeTheNextQuestion is a dialogue over pipes: the answer
// must come although the input stays open.
func TestStreamAnswersBeforeTheNextQuestion(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan int)
	go func() {
		code := Run(inR, outW, io.Discard, Options{JSONL: true})
		outW.Close()
		done <- code
	}()
	answers := bufio.NewReader(outR)
	for i := 1; i <= 3; i++ {
		fmt.Fprintln(inW, pureLine(i))
		got := make(chan string, 1)
		go func() {
			line, _ := answers.ReadString('\n')
			got <- line
		}()
		select {
		case line := <-got:
			if !strings.Contains(line, fmt.Sprintf(`"epsilon":%d,`, i)) {
				t.Errorf("answer %d: %s", i, line)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("no answer while the input is open")
		}
	}
	inW.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit %d", code)
	}
}

// endless is a stream of questions without an end.
type endless struct {
	line []byte
	at   int
	sent int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.line[e.at:])
		n, e.at = n+c, (e.at+c)%len(e.line)
	}
	e.sent += n
	return n, nil
}

// stuck is an output that takes nothing until it fails.
type stuck struct{ fail chan struct{} }

func (s stuck) Write([]byte) (int, error) {
	<-s.fail
	return 0, io.ErrClosedPipe
}

// TestStreamReadsNoFurtherThanItWrites: when nobody takes the answers, reading
// stops after a bounded number of lines, and ends when writing fails.
func TestStreamReadsNoFurtherThanItWrites(t *testing.T) {
	line := []byte(pureLine(1) + "\n")
	in := &endless{line: line}
	out := stuck{make(chan struct{})}
	done := make(chan int)
	go func() { done <- Run(in, out, io.Discard, Options{JSONL: true}) }()
	time.Sleep(300 * time.Millisecond)
	close(out.fail)
	if code := <-done; code != ExitFailed {
		t.Errorf("exit %d", code)
	}
	// The queue, what the workers and the writer hold, the writer's buffer of
	// 64 KiB of answers and the reader's of questions.
	most := (6*runtime.GOMAXPROCS(0)+1000)*len(line) + 2*64<<10
	if in.sent > most {
		t.Errorf("read %d bytes ahead, at most %d expected", in.sent, most)
	}
}

// BenchmarkThousandQueries is the figure of `--jsonl`: 1,000 different Rényi
// queries. Reference: at most 1 s; the Python libraries' Rényi accountants take
// 14 to 27 ms for one of them.
func BenchmarkThousandQueries(b *testing.B) {
	var in bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&in, `{"relation":"add-remove","event":{"repeat":{"n":%d,"event":`+
			`{"poisson":{"rate":0.01,"event":{"gaussian":{"sigma":%v}}}}}},"query":{"delta":1e-6,"methods":["rdp"]}}`+"\n",
			1000+9*i, 1+float64(i)/1000)
	}
	for b.Loop() {
		var out bytes.Buffer
		if code := Run(bytes.NewReader(in.Bytes()), &out, io.Discard, Options{JSONL: true}); code != 0 ||
			bytes.Count(out.Bytes(), []byte("\n")) != 1000 || bytes.Contains(out.Bytes(), []byte(`"error"`)) {
			b.Fatal("not all were answered")
		}
	}
}
