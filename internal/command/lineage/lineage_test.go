package lineage

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/specs"
)

// server keeps what it was sent, and fails the first few requests.
type server struct {
	mu     sync.Mutex
	fail   int
	paths  []string
	keys   []string
	bodies [][]byte
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.paths, s.keys, s.bodies = append(s.paths, r.URL.Path), append(s.keys, r.Header.Get("Authorization")), append(s.bodies, body)
	w.WriteHeader(http.StatusCreated)
}

func none(string) (string, bool) { return "", false }

func someJob() *job.Job {
	return &job.Job{Name: "trips",
		Dataset: job.Dataset{ID: "trips-2026", Unit: "person", Relation: privacy.AddRemove, Source: job.Source{Path: "/srv/trips.parquet"}}}
}

func someReport() *report.Report {
	return &report.Report{
		Job: report.Job{Name: "trips"}, Dataset: report.Dataset{ID: "trips-2026"},
		Guarantee: report.Guarantee{Epsilon: 1e-7, Delta: 0},
		Draws:     []report.Draw{{Name: "srs", Design: "poisson 0.1"}},
		Releases: []report.Release{{Name: "fares", Mechanism: report.Mechanism{Name: "mean", Version: "1"},
			Fields: []report.Field{{Name: "mean"}}, Files: []report.File{{Path: "fares.csv"}}}},
		Budget: &report.Budget{Amounts: []report.Amount{{Unit: "epsilon", Spent: "0.5", Limit: "1"}, {Unit: "delta", Spent: "0", Limit: "0.000001"}}},
	}
}

// The input of a job on an Iceberg table says which snapshot was read, also under a name of the job's own.
func TestSnapshot(t *testing.T) {
	for _, name := range []string{"", "city.trips"} {
		j := someJob()
		if facets := (story{job: j}).input().Facets; facets != nil {
			t.Errorf("a table of files has %v", facets)
		}
		j.Lineage = name
		j.Dataset.Source.Snapshot = 3051729675574597004
		text, err := json.Marshal((story{job: j}).input().Facets)
		if err != nil || !strings.Contains(string(text), `"version":{`) || !strings.Contains(string(text), `"datasetVersion":"3051729675574597004"`) {
			t.Errorf("%q: %s %v", name, text, err)
		}
	}
}

// Events suit OpenLineage's schema, where the environment says where that lies, and the
// facet always suits its own.
func TestEvents(t *testing.T) {
	s := &server{fail: 2}
	web := httptest.NewServer(s)
	defer web.Close()
	told, err := New("", func(name string) (string, bool) {
		v, ok := map[string]string{urlVariable: web.URL + "/lin", keyVariable: "secret"}[name]
		return v, ok
	}, "v2.0.0")
	if err != nil {
		t.Fatal(err)
	}
	told.Start(someJob())
	told.Debited()
	debit := told.at
	time.Sleep(5 * time.Millisecond) // what the rows take
	told.Complete("/srv/out", someReport())
	if err := told.Close(); err != nil {
		t.Fatal(err)
	}
	if len(s.bodies) != 2 || s.paths[0] != "/lin/api/v1/lineage" || s.keys[1] != "Bearer secret" {
		t.Fatalf("sent %q to %q with %q", s.bodies, s.paths, s.keys)
	}
	var events []event
	for _, b := range s.bodies {
		suits(t, b)
		var e event
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if events[0].Run.ID != events[1].Run.ID || events[0].EventType != "START" || events[1].EventType != "COMPLETE" {
		t.Errorf("events %s %s of %s %s", events[0].EventType, events[1].EventType, events[0].Run.ID, events[1].Run.ID)
	}
	if want := debit.UTC().Format("2006-01-02T15:04:05.000Z07:00"); events[1].EventTime != want {
		t.Errorf("the last event is of %s, the debit of %s", events[1].EventTime, want)
	}
	if len(events[1].Outputs) != 1 || events[1].Outputs[0].Name != "/srv/out/fares.csv" || events[1].Inputs[0].Name != "/srv/trips.parquet" {
		t.Errorf("outputs %v of inputs %v", events[1].Outputs, events[1].Inputs)
	}
}

// suits validates an event.
func suits(t *testing.T, text []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	own, err := specs.FS.ReadFile("lineage-v1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	loss := doc.(map[string]any)["run"].(map[string]any)["facets"].(map[string]any)[facet]
	validate(t, own, "#/$defs/DpreleasePrivacyLossRunFacet", loss)
	if path := os.Getenv("OPENLINEAGE_SCHEMA"); path != "" {
		theirs, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		validate(t, theirs, "", doc)
	}
}

func validate(t *testing.T, schema []byte, part string, doc any) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json" + part)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(doc); err != nil {
		t.Errorf("%v", err)
	}
}

// A failure before the debit is told to everybody, a later one to files only (P19, P20).
func TestFailuresAfterTheDebitStayPrivate(t *testing.T) {
	for _, before := range []bool{true, false} {
		s := &server{}
		web := httptest.NewServer(s)
		log := filepath.Join(t.TempDir(), "lineage.jsonl")
		for _, to := range []string{web.URL, log} {
			told, err := New(to, none, "v2")
			if err != nil {
				t.Fatal(err)
			}
			told.Start(someJob())
			told.Fail("PLUGIN_FAILED", "none", before)
			if err := told.Close(); err != nil {
				t.Fatal(err)
			}
		}
		web.Close()
		want := 1
		if before {
			want = 2
		}
		if len(s.bodies) != want {
			t.Errorf("before the debit %v: %d events to the server, want %d", before, len(s.bodies), want)
		}
		text, err := os.ReadFile(log)
		if err != nil || strings.Count(string(text), "\n") != 2 || !strings.Contains(string(text), "PLUGIN_FAILED") {
			t.Errorf("%v, the file holds %s", err, text)
		}
		if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", err, info.Mode())
		}
	}
}

// What cannot be sent is an error of Close and nothing else; no text of a server is
// repeated.
func TestUnreachable(t *testing.T) {
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you", http.StatusUnauthorized) }))
	defer refuse.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for address, want := range map[string]string{refuse.URL: "status 401", gone.URL: "cannot be reached"} {
		told, err := New(address, none, "v2")
		if err != nil {
			t.Fatal(err)
		}
		told.Start(someJob())
		told.Complete("out", someReport())
		if err := told.Close(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "who") {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	if told, err := New("", func(n string) (string, bool) { return "true", n == disabledVariable }, "v2"); told != nil || err != nil {
		t.Errorf("a disabled sender is %v, %v", told, err)
	}
	for _, bad := range []string{"ftp://host", "http://"} {
		if _, err := New(bad, none, "v2"); err == nil {
			t.Errorf("%s is taken for an address", bad)
		}
	}
}

// The names of a job cannot break out of a label.
func TestMetrics(t *testing.T) {
	rep := someReport()
	rep.Job.Name = "a\"b\\c\nd"
	path := filepath.Join(t.TempDir(), "m.prom")
	if err := WriteMetrics(path, rep, time.Unix(1700000000, 5)); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	for _, want := range []string{
		`dprelease_charged_epsilon{job_name="a\"b\\c\nd",dataset="trips-2026"} 1e-07`,
		`dprelease_budget_limit{job_name="a\"b\\c\nd",dataset="trips-2026",unit="epsilon"} 1` + "\n",
		"dprelease_debit_timestamp_seconds{", " 1700000000\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if n := strings.Count(string(text), "# TYPE dprelease_budget_spent gauge"); n != 1 {
		t.Errorf("a metric is declared %d times", n)
	}
}

// A monitor hears that a run failed; after the debit it hears when that was, and no cause (P19, P20).
func TestMetricsOfFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.prom")
	for want, write := range map[string]func() error{
		`dprelease_failed{job_name="trips",dataset="trips-2026",code="LEDGER_LOCKED"} 1` + "\n": func() error {
			return WriteFailed(path, someJob(), "LEDGER_LOCKED", time.Time{})
		},
		`dprelease_failed{job_name="trips",dataset="trips-2026"} 1` + "\n": func() error {
			return WriteFailed(path, someJob(), "", time.Unix(1700000000, 5))
		},
		`dprelease_failed{job_name="trips",dataset="trips-2026"} 0` + "\n": func() error {
			return WriteMetrics(path, someReport(), time.Unix(1700000000, 5))
		},
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(path)
		if !strings.Contains(string(text), want) || strings.Contains(string(text), "code=") == strings.Contains(string(text), " 1700000000\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
