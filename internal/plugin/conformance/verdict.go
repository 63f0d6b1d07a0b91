package conformance

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/report"
)

// Suite is the version of the suite: specs/conformance-v1.md.
const Suite = "conformance-v1"

// Verdict is the answer of a check: in check.json, on a page, and for a person.
type Verdict struct {
	Verdict string `json:"verdict"`
	Suite   string `json:"suite"`
	SHA256  string `json:"sha256,omitempty"`
	// Sandbox names the confinement of the plugin while it was checked.
	Sandbox string `json:"sandbox,omitempty"`
	*sdktest.Report

	// About is the plugin's description of itself, Plans are those that it made, and Read are the
	// system's files that it read.
	About sdk.Description `json:"-"`
	Plans []Planned       `json:"-"`
	Read  []string        `json:"-"`
}

// NewVerdict is the verdict on the executable with that digest.
func NewVerdict(sha256, sandbox string, r *sdktest.Report) Verdict {
	return Verdict{Verdict: r.Verdict(), Suite: Suite, SHA256: sha256, Sandbox: sandbox, Report: r}
}

// WriteFiles writes check.json and check.html into a folder, which is made if need be.
func (v Verdict) WriteFiles(dir string) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	title := v.Verdict + ": " + cmp.Or(v.Mechanism, "a plugin that does not describe itself") + " " + v.Version
	var html bytes.Buffer
	if err := report.WriteSections(&html, title, v.sections()); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "check.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "check.html"), html.Bytes(), 0o644)
}

// sections are the findings, what was tried, and the verdict.
func (v Verdict) sections() (out []document.Section) {
	for _, f := range v.Findings {
		what, way, _ := strings.Cut(f.Detail, "\n") // what a plugin printed, or a stack
		s := document.Section{Title: f.Check + ": " + what}
		if f.Request != "" {
			s.Parts = append(s.Parts, document.Part{Text: "with " + f.Request})
		}
		for _, lines := range []struct{ name, text string }{{"Where it happened", way}, {"The tables", f.Tables}} {
			t := &document.Table{Name: lines.name}
			for line := range strings.Lines(lines.text) {
				cells := document.Row(strings.Split(strings.TrimSuffix(line, "\n"), "\t")...)
				t.Rows, t.Head = append(t.Rows, cells), make([]document.Head, max(len(t.Head), len(cells)))
			}
			if len(t.Rows) > 0 || len(s.Parts) == 0 { // a section without parts is not written
				s.Parts = append(s.Parts, document.Part{Table: t})
			}
		}
		out = append(out, s)
	}
	var tried []document.Part
	add := func(label, format string, args ...any) {
		tried = append(tried, document.Part{Label: label, Text: fmt.Sprintf(format, args...), Class: document.Fact})
	}
	for _, s := range v.Statistics {
		add("noise of its own", "epsilon at least %.3g, claimed %.3g; %d runs a table could show %.3g (confidence 1 - %.1g, event: %s)",
			s.LowerBound, s.Claimed, s.Runs, s.Ceiling, 1-s.Confidence, s.Event)
	}
	add("mechanism", "%s %s: %d requests (%d refused), %d pairs of tables, %d noise calls, seed %d",
		v.Mechanism, v.Version, v.Requests, v.Refused, v.Pairs, v.Calls, v.Seed)
	for _, name := range slices.Sorted(maps.Keys(v.Used)) {
		add("largest share of what is declared", "%s: %.4g", name, v.Used[name])
	}
	add("suite", "%s", v.Suite)
	if v.SHA256 != "" {
		add("sha256", "%s", v.SHA256)
	}
	if v.Sandbox != "" {
		add("sandbox", "%s", v.Sandbox)
	}
	if v.Ended != "" {
		add("ended early", "%s", v.Ended)
	}
	said := document.Part{Text: v.Verdict}
	switch {
	case v.Refuted():
	case v.About.DeclaresQuery:
		said.Text += ": no fault was found. Privacy does not rest on the author: the host computes what each row adds, bounds it, " +
			"and makes the noise for it. Whether the result is right does"
	default:
		said.Text += ": no broken promise was found. This is not a proof; the mechanism's author owes one"
	}
	return append(out, document.Section{Title: "what was tried", Parts: tried}, document.Section{Parts: []document.Part{said}})
}

// Text is the verdict for people.
func (v Verdict) Text() string {
	var b strings.Builder
	_ = document.WriteText(&b, v.sections()...) // nothing goes wrong in memory
	return b.String()
}
