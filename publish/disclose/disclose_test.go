package disclose

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/report"
)

// fixture is the report of a job, with everything that a person can say.
func fixture(t *testing.T, name string) *report.Report {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "report", "testdata", name, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	r.Publication = &report.Publication{Title: "Schools in figures", Publisher: "Office", Period: "2000", Contact: "yes",
		Published: "2026-10-31", IntendedUse: "Planning.", Region: "no", Sector: "Education", Sources: []string{"https://example.org/a."}, Justification: "1e-7"}
	return &r
}

// schema is the registry's own, where it lies at hand: beside the project, or where
// DPRELEASE_REGISTRY says. Without it the project's own rules remain.
func schema(t *testing.T) (*jsonschema.Schema, string) {
	t.Helper()
	for _, dir := range []string{os.Getenv("DPRELEASE_REGISTRY"), filepath.Join("..", "..", "..", "shared", "registry", "opendp-deployments")} {
		path := filepath.Join(dir, "deployments-schema.json")
		if _, err := os.Stat(path); dir == "" || err != nil {
			continue
		}
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft7)
		c.AssertFormat()
		s, err := c.Compile(path)
		if err != nil {
			t.Fatal(err)
		}
		return s, dir
	}
	return nil, ""
}

// accepted holds an entry to the project's rules and to the registry's schema.
func accepted(t *testing.T, file string, text []byte) {
	t.Helper()
	for _, p := range Problems(file, text) {
		t.Errorf("%s: %s", file, p)
	}
	s, _ := schema(t)
	if s == nil {
		return
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

func TestRegistryEntries(t *testing.T) {
	strange := []string{"on", "2026-10-31", "1e-07", "~", "C:\\\\x # : - {", "'quoted'", "über\tuns ", "- list", "https://example.org/x.", "a\u2028b"}
	for _, name := range []string{"schools", "response", "onepass", "descent"} {
		for i, word := range append([]string{""}, strange...) {
			r := fixture(t, name)
			if word != "" {
				p := r.Publication
				p.Title, p.Publisher, p.Region, p.Contact, p.IntendedUse, p.Justification = word+" x", word, word, word, "x \n"+word+"  \ny", word
			}
			r.Guarantee.Delta = []float64{0, 1e-7, 5.06e-9}[i%3]
			e, err := Registry(r, "2026-01-01")
			if err != nil {
				t.Fatalf("%s, %q: %v", name, word, err)
			}
			accepted(t, e.File, e.Text)
			if e.Tier != 3 || len(e.Missing) > 0 {
				t.Errorf("%s, %q: tier %d, %v", name, word, e.Tier, e.Missing)
			}
		}
	}
}

// The tier is the highest whose fields are all there, and nothing is made up.
func TestRegistryTiers(t *testing.T) {
	for _, c := range []struct {
		change  func(*report.Publication)
		tier    int
		missing []string
	}{
		{func(p *report.Publication) { p.Justification = "" }, 2, []string{"justification"}},
		{func(p *report.Publication) { p.Sector = "" }, 1, []string{"sector"}},
		{func(p *report.Publication) { p.Sector, p.Sources = "", nil }, 1, []string{"sector", "sources"}},
	} {
		r := fixture(t, "schools")
		c.change(r.Publication)
		e, err := Registry(r, "2026-01-01")
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, m := range e.Missing {
			keys = append(keys, m.Key)
		}
		if e.Tier != c.tier || !slices.Equal(keys, c.missing) {
			t.Errorf("tier %d lacks %v, want %d and %v", e.Tier, keys, c.tier, c.missing)
		}
		accepted(t, e.File, e.Text)
	}
	r := fixture(t, "schools")
	r.Publication = nil
	_, err := Registry(r, "2026-01-01")
	if err == nil || !strings.Contains(err.Error(), "publication needs publisher, intended_use, region, contact") {
		t.Error(err)
	}
}

// An account in ρ has an entry in ρ, as a number.
func TestRegistryRho(t *testing.T) {
	r := fixture(t, "schools")
	r.Budget = &report.Budget{Filter: "zcdp", LimitRho: "1", Amounts: []report.Amount{{Unit: "rho", Cost: "0.00000025"}}}
	e, err := Registry(r, "2026-01-01")
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, e.File, e.Text)
	if text := string(e.Text); !strings.Contains(text, "variant_name: Zero-concentrated DP\n") || !strings.Contains(text, "rho: 0.00000025\n") || strings.Contains(text, "epsilon: ") {
		t.Error(text)
	}
}

func TestFloatText(t *testing.T) {
	for in, want := range map[string]string{"1e-7": "1.0e-7", "5.06e-9": "5.06e-9", "2": "2.0", "1e20": "1.0e+20", "1.9": "1.9"} {
		if got := floatText(in); got != want || !float11.MatchString(got) {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
	if float11.MatchString("1e-07") {
		t.Error("1e-07 is text in YAML 1.1")
	}
}

// Every rule finds the entry that breaks it.
func TestProblems(t *testing.T) {
	e, err := Registry(fixture(t, "schools"), "")
	if err != nil {
		t.Fatal(err)
	}
	good := string(e.Text)
	for _, c := range []struct{ file, old, new, want string }{
		{"Schools.yaml", "", "", "file name"},
		{"", "tier: 3\n", "tier: 3 \n", "ends in a blank"},
		{"", "status: Draft\n", "", "status is missing"},
		{"", "status: Draft\ntier: 3\n", "tier: 3\nstatus: Draft\n", "wrong order"},
		{"", "status: Draft", "status: Finished", "must be one of"},
		{"", "tier: 3", "tier: 4", "must be 1, 2 or 3"},
		{"", "tier: 3\n", "tier: 3\nextra: 1\n", "is no field"},
		{"", "'2026-10-31'", "2026-10-31", "must be a day in quotes"},
		{"", "'2026-10-31'", "'2026-02-30'", "must be a day in quotes"},
		{"", "- 'yes'", "- yes", "something else than text"},
		{"", "data_product_region: 'no'", "data_product_region: no", "must be a text"},
		{"", "justification: '1e-7'", "justification: 1.0e-7", "must be a text"},
		{"", "epsilon: 1.9", "epsilon: 1e-07", "must be a number"},
		{"", "epsilon: 1.9", "epsilon: '1.9'", "must be a number"},
		{"", "intended_use: 'Planning.'", "intended_use: >\n      Planning.", "folded"},
		{"", "intended_use: 'Planning.'", `intended_use: 'a \\epsilon'`, "two backslashes"},
		{"", "intended_use: 'Planning.'", "intended_use: null", "must be a text"},
		{"", "url_slug: schools", "url_slug: 'schools", "one YAML mapping"},
		{"", "url_slug: schools-in", "url_slug: school-in", "first line must be"},
		{"", "url_slug:", "# a word\nurl_slug:", "first line must be"},
		{"", "    registry_authors:\n      - 'yes'\n", "", "registry_authors is missing"},
	} {
		file := e.File
		if c.file != "" {
			file = c.file
		}
		broken := strings.Replace(good, c.old, c.new, 1)
		if c.file == "" && broken == good {
			t.Fatalf("%q is not in the entry\n%s", c.old, good)
		}
		if got := strings.Join(Problems(file, []byte(broken)), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q does not say %q", c.new, got, c.want)
		}
	}
	if got := Problems(e.File, append([]byte(good), '\n')); len(got) == 0 {
		t.Error("a second line end")
	}
	if got := Problems(e.File, []byte(good+"---\na: 1\n")); len(got) == 0 {
		t.Error("a second document")
	}
}

// The rules accept what the registry accepted, and know all of its fields.
func TestRulesOfTheRegistry(t *testing.T) {
	s, dir := schema(t)
	if s == nil {
		if len(fields) != 37 { // as the schema of RegistryCommit has
			t.Errorf("%d fields", len(fields))
		}
		return
	}
	examples, err := filepath.Glob(filepath.Join(dir, "examples", "*.yaml"))
	if err != nil || len(examples) < 3 {
		t.Fatal(examples, err)
	}
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		accepted(t, filepath.Base(path), text)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "deployments-schema.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	var theirs []string
	leaves(root.Content[0], "", &theirs)
	var ours []string
	for _, f := range fields {
		ours = append(ours, f.path)
	}
	if !slices.Equal(ours, theirs) {
		t.Errorf("our fields are\n%v, theirs\n%v", ours, theirs)
	}
}

// leaves lists the fields of a schema in order.
func leaves(n *yaml.Node, path string, out *[]string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "properties" {
			continue
		}
		for k := 0; k+1 < len(n.Content[i+1].Content); k += 2 {
			leaves(n.Content[i+1].Content[k+1], strings.TrimPrefix(path+"."+n.Content[i+1].Content[k].Value, "."), out)
		}
		return
	}
	*out = append(*out, path)
}

// Every hazard has a verdict that follows from the run, and evidence.
func TestHazards(t *testing.T) {
	r := fixture(t, "schools")
	of := func(number string) Hazard {
		t.Helper()
		all := Hazards(r)
		i := slices.IndexFunc(all, func(h Hazard) bool { return h.Number == number })
		if i < 0 {
			t.Fatalf("no hazard %s", number)
		}
		return all[i]
	}
	all := Hazards(r)
	if len(all) != 27 {
		t.Errorf("%d hazards, want 24 and 3 of ours", len(all))
	}
	for i, h := range all {
		if i < 24 && h.Number != fmt.Sprint(i+1) || h.Evidence == "" || h.Verdict == "" || strings.Contains(h.Evidence, "%!") {
			t.Errorf("%+v", h)
		}
	}
	expect := func(number string, v Verdict, evidence string) {
		t.Helper()
		if h := of(number); h.Verdict != v || !strings.Contains(h.Evidence, evidence) {
			t.Errorf("%+v, want %s and %q", h, v, evidence)
		}
	}
	expect("1", Judge, "87 times in 100")
	expect("2", Met, "δ is 0")
	expect("4", Warning, "The unit is a row")
	expect("S1", Judge, "srs (srswor)")
	r.Guarantee.Epsilon, r.Guarantee.Delta = 25, 1e-3
	expect("1", Warning, "epsilon 25")
	expect("2", Warning, "6194")
	expect("7", Warning, "")
	r.Guarantee.Epsilon, r.Guarantee.Delta = 0.5, 1e-9
	expect("1", Met, "")
	expect("2", Met, "")
	r.Dataset.UnitName, r.Dataset.UnitColumn, r.Dataset.UnitRows, r.Dataset.UnitCap = "person", "id", "capped", &report.Cap{Groups: 2, Rows: 3}
	expect("4", Met, "at most 2 groups")
	expect("13", Judge, "3 rows in each")
	r.Releases[0].Mechanism.SelfNoising = true
	expect("9", Warning, r.Releases[0].Name)
	r.Look = &report.Look{Changed: []string{"api00"}}
	expect("S3", Warning, "api00")
	var b strings.Builder
	if err := WriteNIST(&b, r); err != nil || !strings.Contains(b.String(), GuidelineText) || strings.Contains(b.String(), "omplies") {
		t.Error(err, b.Len())
	}
}

// An attestation can be signed as DSSE says, here by ed25519 and checked by openssl.
func TestAttestationIsSigned(t *testing.T) {
	dir := t.TempDir()
	r := fixture(t, "schools")
	for i := range r.Releases {
		name := r.Releases[i].Name + ".csv"
		r.Releases[i].Files = []report.File{{Path: name, SHA256: "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"}} // of "foo\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte("foo\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := Attest(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil || s["_type"] != StatementType || s["predicateType"] != PredicateType || len(s["subject"].([]any)) != len(r.Releases) {
		t.Fatal(err, s)
	}
	if bytes.Contains(text, []byte("budget")) || bytes.Contains(text, []byte("ledger")) {
		t.Error("the statement names the ledger")
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	pae := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(PayloadType), PayloadType, len(text), text)
	signature := ed25519.Sign(private, pae)
	if !ed25519.Verify(public, pae, signature) || ed25519.Verify(public, append(pae, ' '), signature) {
		t.Fatal("ed25519")
	}
	// The same with openssl, as docs/how-to/publish.md says.
	if openssl, err := exec.LookPath("openssl"); err == nil {
		run := func(args ...string) error {
			cmd := exec.Command(openssl, args...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("openssl %v: %w\n%s", args, err, out)
			}
			return nil
		}
		for _, args := range [][]string{{"genpkey", "-algorithm", "ed25519", "-out", "key.pem"}, {"pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"}} {
			if err := run(args...); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "pae"), pae, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run("pkeyutl", "-sign", "-inkey", "key.pem", "-rawin", "-in", "pae", "-out", "signature"); err != nil {
			t.Fatal(err)
		}
		verify := []string{"pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin", "-in", "pae", "-sigfile", "signature"}
		if err := run(verify...); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "pae"), append(pae, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		if run(verify...) == nil {
			t.Error("a changed statement verifies")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, r.Releases[0].Files[0].Path), []byte("bar\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Attest(dir, r); err == nil {
		t.Error("a changed file is attested")
	}
}

// A unit may have a name in any alphabet.
func TestUnitOfAnyAlphabet(t *testing.T) {
	if got := unitLevel(&report.Dataset{Unit: "row", UnitName: "élève", UnitColumn: "id"}); got != "Élève-level" {
		t.Errorf("%q", got)
	}
}
