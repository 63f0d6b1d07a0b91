package conformance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
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
	var html bytes.Buffer
	if err := page.Execute(&html, v); err != nil {
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

//go:embed verdict.html.tmpl
var pageText string

var page = template.Must(template.New("check").Parse(pageText))

// Shares are the largest shares of what is declared, in the order of their names.
func (v Verdict) Shares() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v.Used)) {
		out = append(out, fmt.Sprintf("%s: %.4g", name, v.Used[name]))
	}
	return out
}

// Text is the verdict for people.
func (v Verdict) Text() string {
	out := ""
	say := func(format string, args ...any) { out += fmt.Sprintf(format, args...) }
	for _, f := range v.Findings {
		say("%s: %s\n", f.Check, f.Detail)
		if f.Request != "" {
			say("  with %s\n", f.Request)
		}
		if f.Tables != "" {
			say("%s", f.Tables)
		}
		say("\n")
	}
	for _, s := range v.Statistics {
		say("epsilon at least %.3g, claimed %.3g; %d runs a table could show %.3g (confidence 1 - %.1g, event: %s)\n",
			s.LowerBound, s.Claimed, s.Runs, s.Ceiling, 1-s.Confidence, s.Event)
	}
	say("%s %s: %d requests (%d refused), %d pairs of tables, %d noise calls, seed %d\n",
		v.Mechanism, v.Version, v.Requests, v.Refused, v.Pairs, v.Calls, v.Seed)
	for _, share := range v.Shares() {
		say("  largest share of what is declared, %s\n", share)
	}
	if v.SHA256 != "" {
		say("sha256: %s\n", v.SHA256)
	}
	if v.Sandbox != "" {
		say("sandbox: %s\n", v.Sandbox)
	}
	if v.Ended != "" {
		say("ended early: %s\n", v.Ended)
	}
	say("%s", v.Verdict)
	if !v.Refuted() {
		say(": no broken promise was found. This is not a proof; the mechanism's author owes one.")
	}
	return out + "\n"
}
