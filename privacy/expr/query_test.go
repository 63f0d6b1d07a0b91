package expr

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/privacy"
)

func TestParseQuery(t *testing.T) {
	const event = `event: {gaussian: {sigma: 2}}, relation: replace-one, query: `
	for text, want := range map[string]Query{
		`{` + event + `{delta: 1e-6}}`:                     {Relation: privacy.ReplaceOne, Event: privacy.Gaussian{Sigma: 2}, Given: GivenDelta, Delta: 1e-6},
		`{` + event + `{delta: 0.5, methods: [rdp, pld]}}`: {Relation: privacy.ReplaceOne, Event: privacy.Gaussian{Sigma: 2}, Given: GivenDelta, Delta: 0.5, Methods: []string{"rdp", "pld"}},
		`{` + event + `{delta: 0}}`:                        {Relation: privacy.ReplaceOne, Event: privacy.Gaussian{Sigma: 2}, Given: GivenDelta},
		`{` + event + `{epsilon: "1.5"}}`:                  {Relation: privacy.ReplaceOne, Event: privacy.Gaussian{Sigma: 2}, Given: GivenEpsilon, Epsilon: 1.5},
	} {
		q, problems := ParseQuery([]byte(text), "")
		if problems != nil {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		q.places = nil
		if !reflect.DeepEqual(*q, want) {
			t.Errorf("%s: got %+v", text, *q)
		}
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	const event = `event: {gaussian: {sigma: 2}}, relation: add-remove, query: `
	for text, want := range map[string]string{
		`{query: {delta: 0.1}}`: `1:1: relation: is missing (add-remove or replace-one; there is no default)`,
		`{relation: add_remove, query: {delta: 0}, event: {pure: {eps: 1}}}`: `1:12: relation: must be add-remove or replace-one (did you mean add-remove?)`,
		`{relation: [a], query: {delta: 0}, event: {pure: {eps: 1}}}`:        `relation: must be add-remove or replace-one`,
		`{` + event + `{delta: 1}}`:                                          `query.delta: must be at least 0 and below 1`,
		`{` + event + `{delta: 0.1, methods: rdp}}`:                          `query.methods: must be a list of at least one method`,
		`{` + event + `{delta: 0.1, methods: [rdp, renyi]}}`:                 `query.methods[1]: must be one of basic, rdp, pld, shuffle, iterate`,
		`{` + event + `{delta: 0.1, methods: [rdp, rdp]}}`:                   `query.methods[1]: is given twice (keep one)`,
		`{` + event + `{epsilon: -1}}`:                                       `query.epsilon: must not be negative`,
		`{` + event + `{eps: 1}}`:                                            `query.eps: unknown field (did you mean epsilon?)`,
		`{` + event + `{epsilon: 1, delta: 0.1}}`:                            `query: gives both epsilon and delta (leave out`,
		`{` + event + `1e-6}`:                                                `query: must be a mapping of fields, not "1e-6" (one of {delta: 1e-6}`,
		`{` + event + `{calibrate: sigma, epsilon: 1}}`:                      `query.delta: is missing (a calibration meets a target of both`,
		`{` + event + `{calibrate: sigma, epsilon: 0, delta: 0.1}}`:          `query.epsilon: must be above 0`,
		`{` + event + `{calibrate: sigma}}`:                                  `query.epsilon: is missing`,
		`{` + event + `{calibrate: rate, epsilon: 1, delta: 0.1}}`:           `query.calibrate: no field "rate" in this expression can be calibrated; the candidates are gaussian.sigma`,
		`{` + event + `{calibrate: [a], epsilon: 1, delta: 0.1}}`:            `query.calibrate: must be the name of a field`,
		`[1]`:  `1:1: is not a question: it looks like JSON of another kind (write relation, event and query)`,
		`text`: `1:1: is not a question: it looks like text of another kind`,
	} {
		_, problems := ParseQuery([]byte(text), "")
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: told\n%v\nwant %s", text, problems, want)
		}
	}
	if _, problems := ParseQueryJSON([]byte(`{relation: add-remove}`), "stdin"); !strings.Contains(problems.Error(), "stdin:1:2: is not JSON") {
		t.Errorf("YAML where JSON is asked for: %v", problems)
	}
}

func TestCalibrateNames(t *testing.T) {
	const all = `{compose: [
	  {gaussian: {sigma: 4}}, {gaussian: {sigma: 1}},
	  {repeat: {n: 7, event: {poisson: {rate: 0.1, event: {laplace: {scale: 2}}}}}},
	  {without_replacement: {n: 2, N: 10, event: {pure: {eps: 1}}}},
	  {last_iterate: {kind: cyclic-convex, sigma: 3, sensitivity: 1, n: 100, batch: 5, step_size: 0.02, smooth: 1, diameter: 1, epochs: 2}}]}`
	oneMissing := strings.Replace(all, "{gaussian: {sigma: 4}}", "{gaussian: {}}", 1)
	for _, c := range []struct{ event, name, path, wrong string }{
		{`{gaussian: {sigma: 1}}`, "sigma", "gaussian.sigma", ""},
		{`{gaussian: {}}`, "sigma", "gaussian.sigma", ""},
		{`{gaussian: {sigma: null}}`, "gaussian.sigma", "gaussian.sigma", ""},
		{`{gaussian: {sigma: "?"}}`, "event.gaussian.sigma", "gaussian.sigma", ""},
		{`{repeat: {event: {pure: {eps: 1}}}}`, "n", "repeat.n", ""},
		{`{repeat: {event: {pure: {eps: 1}}}}`, "steps", "repeat.n", ""},
		{`{repeat: {n: 3, event: {pure: {}}}}`, "eps", "repeat.event.pure.eps", ""},
		{`{approx: {eps: 1}}`, "delta", "approx.delta", ""},
		{`{shuffled: {event: {randomized_response: {k: 2, eps0: 1}}}}`, "n", "shuffled.n", ""},
		{`{shuffled: {n: 100, event: {randomized_response: {k: 2}}}}`, "eps0", "shuffled.event.randomized_response.eps0", ""},
		{all, "rate", "compose[2].repeat.event.poisson.rate", ""},
		{all, "repeat.n", "compose[2].repeat.n", ""},
		{all, "N", "compose[3].without_replacement.N", ""},
		{all, "epochs", "compose[4].last_iterate.epochs", ""},
		{all, "compose[0].gaussian.sigma", "compose[0].gaussian.sigma", ""},
		{oneMissing, "sigma", "compose[0].gaussian.sigma", ""},
		{oneMissing, "rate", "", "compose[0].gaussian.sigma: is missing"},
		{all, "sigma", "", "sigma is ambiguous: it could be compose[0].gaussian.sigma, compose[1].gaussian.sigma, compose[4].last_iterate.sigma;"},
		{`{compose: [{gaussian: {sigma: 1}}, {gaussian: {sigma: 2}}]}`, "sigma", "",
			"sigma is ambiguous: it could be compose[0].gaussian.sigma, compose[1].gaussian.sigma; write one of these paths"},
		{all, "igma", "", `no field "igma" in this expression can be calibrated; the candidates are compose[0].gaussian.sigma, compose[1].gaussian.sigma,`},
		{`{randomized_response: {k: 2, eps0: 1}}`, "k", "", "the candidates are randomized_response.eps0"},
	} {
		q, problems := ParseQuery([]byte(`{relation: add-remove, query: {calibrate: "`+c.name+`", epsilon: 1, delta: 1e-6}, event: `+c.event+`}`), "")
		if c.wrong != "" {
			if !strings.Contains(problems.Error(), c.wrong) {
				t.Errorf("%s in %s: told\n%v\nwant %s", c.name, c.event, problems, c.wrong)
			}
			continue
		}
		if problems != nil {
			t.Errorf("%s in %s: %v", c.name, c.event, problems)
			continue
		}
		if q.Parameter.Path != c.path {
			t.Errorf("%s in %s: resolved to %s, want %s", c.name, c.event, q.Parameter.Path, c.path)
		}
	}
}

// TestSetChangesTheParameterAndNothingElse sets every parameter that can be
// calibrated, looks for it at its path, and sets it back.
func TestSetChangesTheParameterAndNothingElse(t *testing.T) {
	for _, c := range accepted {
		before, problems := Parse([]byte(c.text), "")
		if problems != nil {
			t.Fatal(problems)
		}
		canonical, err := encode(before)
		if err != nil {
			t.Fatal(err)
		}
		p := newParser("")
		root := p.Document(canonical)
		p.event(lang.Place{At: root, Node: root}, nil)
		for _, f := range p.candidates {
			x := 0.0625
			if f.Whole {
				_, hi := f.Range(before)
				x = min(30, hi)
			}
			changed := f.Set(before, x)
			text, err := encode(changed)
			if err != nil {
				t.Errorf("%s: %v", f.Path, err)
				continue
			}
			after := newParser("").Document(text)
			if got := old(after, f.Path); got != strconv.FormatFloat(x, 'g', -1, 64) {
				t.Errorf("%s of %s was set to %s, not to %v", f.Path, canonical, got, x)
			}
			was, _ := parseFloat(old(root, f.Path))
			if back, err := encode(f.Set(changed, was)); err != nil || string(back) != string(canonical) {
				t.Errorf("%s: set and set back gives %s %v, not %s", f.Path, back, err, canonical)
			}
			lo, hi := f.Range(before)
			if !(lo > 0 && lo < hi) && !(f.Kind == "without_replacement" && lo <= hi) {
				t.Errorf("%s: range [%v, %v]", f.Path, lo, hi)
			}
			again, _ := encode(before)
			if string(again) != string(canonical) {
				t.Errorf("%s: Set changed its argument: %s", f.Path, again)
			}
		}
	}
}

// old is the text of the value at a path of the canonical tree.
func old(n *yaml.Node, path string) string {
	for path != "" {
		var part string
		part, path, _ = strings.Cut(path, ".")
		name, index, indexed := strings.Cut(part, "[")
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				n = n.Content[i+1]
				break
			}
		}
		if indexed {
			n = n.Content[int(index[0]-'0')]
		}
	}
	return n.Value
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		p       Parameter
		x, want float64
	}{{Parameter{}, 1.5, 1.5}, {Parameter{Whole: true}, 1.5, 2}, {Parameter{Whole: true, Most: true}, 1.5, 1}} {
		if got := c.p.Round(c.x); got != c.want {
			t.Errorf("%+v: Round(%v) = %v, want %v", c.p, c.x, got, c.want)
		}
	}
}

func TestPos(t *testing.T) {
	q, problems := ParseQuery([]byte("relation: add-remove\nquery: {delta: 0}\nevent:\n  compose:\n  - pure: {eps: 1}\n  - poisson:\n      rate: 0.5\n      event: {zcdp: {rho: 1}}\n"), "f")
	if problems != nil {
		t.Fatal(problems)
	}
	for path, want := range map[string]string{
		"compose[1].poisson.event.zcdp": "f:8:15", "compose[1].poisson.event": "f:8:14", "compose[0]": "f:5:5", "compose": "f:4:3", "compose[1].poisson.rate": "f:7:13", "compose[1].poisson.nothing": "f:6:5",
	} {
		if pos, ok := q.Pos(path); !ok || pos.String() != want {
			t.Errorf("%s: %v %v, want %s", path, pos, ok, want)
		}
	}
	if pos, ok := q.Pos("nowhere"); !ok || pos.String() != "f:4:3" {
		t.Errorf("a path that is not there: %v", pos)
	}
	if pos, ok := q.QueryPos("query.delta"); !ok || pos.String() != "f:2:16" {
		t.Errorf("query.delta: %v", pos)
	}
}

func TestOffsetLines(t *testing.T) {
	_, problems := ParseQueryJSON([]byte(`{"a":1}`), "stdin")
	problems.OffsetLines(41)
	if got := problems[0].Pos.Line; got != 42 {
		t.Errorf("line %d", got)
	}
}
