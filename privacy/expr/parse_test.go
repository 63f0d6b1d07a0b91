package expr

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// accepted are texts and what they mean; YAML and JSON of the same event stand
// side by side.
var accepted = []struct {
	text string
	want privacy.Event
}{
	{`gaussian: {sigma: 1}`, privacy.Gaussian{Sigma: 1}},
	{`{"gaussian":{"sigma":1.0}}`, privacy.Gaussian{Sigma: 1}},
	{`{gaussian: {sigma: "1e0"}}`, privacy.Gaussian{Sigma: 1}},
	{`{gaussian: {sigma: 0.5, sensitivity: {add-remove: 2}}}`, privacy.Gaussian{Sigma: 0.5, Sensitivity: privacy.Sensitivity{AddRemove: 2}}},
	{`{gaussian: {sigma: .5, sensitivity: {add-remove: 1, replace-one: 1.5}}}`, privacy.Gaussian{Sigma: 0.5, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1.5}}},
	{`{gaussian: {sigma: 1, sensitivity: {}}}`, privacy.Gaussian{Sigma: 1}},
	{`{laplace: {scale: 1E+3, sensitivity: {replace-one: 4}}}`, privacy.Laplace{Scale: 1000, Sensitivity: privacy.Sensitivity{ReplaceOne: 4}}},
	{`{discrete_gaussian: {sigma: 3, coordinates: 16}}`, privacy.DiscreteGaussian{Sigma: 3, Coordinates: 16}},
	{`{discrete_laplace: {scale: 3, sensitivity: {add-remove: 5}}}`, privacy.DiscreteLaplace{Scale: 3, Sensitivity: privacy.Sensitivity{AddRemove: 5}}},
	{`{pure: {eps: 0}}`, privacy.Pure{}},
	{`{approx: {eps: 1, delta: 1e-300}}`, privacy.Approx{Eps: 1, Delta: 1e-300}},
	{`{zcdp: {rho: 0.125}}`, privacy.ZCDP{Rho: 0.125}},
	{`{randomized_response: {k: 4, eps0: 2}}`, privacy.RandomizedResponse{K: 4, Eps0: 2}},
	{`{compose: [{pure: {eps: 1}}, {zcdp: {rho: 1}}]}`, privacy.Compose{Events: []privacy.Event{privacy.Pure{Eps: 1}, privacy.ZCDP{Rho: 1}}}},
	{`{repeat: {n: 1e12, event: {pure: {eps: 1}}}}`, privacy.Repeat{N: 1e12, Event: privacy.Pure{Eps: 1}}},
	{`{"repeat":{"n":1E9,"event":{"pure":{"eps":1}}}}`, privacy.Repeat{N: 1e9, Event: privacy.Pure{Eps: 1}}},
	{`{repeat: {n: 1_000, event: {pure: {eps: 1}}}}`, privacy.Repeat{N: 1000, Event: privacy.Pure{Eps: 1}}},
	{`{poisson: {rate: 1, event: {pure: {eps: 1}}}}`, privacy.Poisson{Rate: 1, Event: privacy.Pure{Eps: 1}}},
	{`{without_replacement: {n: 10, N: 10, event: {pure: {eps: 1}}}}`, privacy.WithoutReplacement{Take: 10, Of: 10, Event: privacy.Pure{Eps: 1}}},
	{`{with_replacement: {n: 20, N: 10, event: {pure: {eps: 1}}}}`, privacy.WithReplacement{Take: 20, Of: 10, Event: privacy.Pure{Eps: 1}}},
	{`{multistage: {stages: [{take: 1, of: 2}, {take: 3, of: 9, max_take: 5}], event: {pure: {eps: 1}}}}`,
		privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}, {Take: 3, Of: 9, MaxTake: 5}}, Event: privacy.Pure{Eps: 1}}},
	{`{by_group: {event: {pure: {eps: 1}}}}`, privacy.ByGroup{Event: privacy.Pure{Eps: 1}}},
	{`{by_group: {fixed: true, event: {pure: {eps: 1}}}}`, privacy.ByGroup{Event: privacy.Pure{Eps: 1}, Fixed: true}},
	{`{rows_of_unit: {rows: 4, event: {poisson: {rate: 0.1, event: {pure: {eps: 1}}}}}}`, privacy.RowsOfUnit{Rows: 4, Event: privacy.Poisson{Rate: .1, Event: privacy.Pure{Eps: 1}}}},
	{`{rotation: {waves: 12, in: 1, event: {pure: {eps: 1}}}}`, privacy.Rotation{Waves: 12, In: 1, Event: privacy.Pure{Eps: 1}}},
	{`{rotation: {waves: 4, patterns: [{waves: [1, 2]}, {waves: [3], weight: 2}], event: {pure: {eps: 1}}}}`,
		privacy.Rotation{Waves: 4, Patterns: []privacy.Pattern{{Waves: []int64{1, 2}}, {Waves: []int64{3}, Weight: 2}}, Event: privacy.Pure{Eps: 1}}},
	{`{"by_group":{"fixed":false,"event":{"pure":{"eps":1}}}}`, privacy.ByGroup{Event: privacy.Pure{Eps: 1}}},
	{`{shuffled: {n: 100000, event: {randomized_response: {k: 2, eps0: 4}}}}`,
		privacy.Shuffled{N: 100000, Event: privacy.RandomizedResponse{K: 2, Eps0: 4}}},
	{`{last_iterate: {kind: full-batch-strongly-convex, sigma: 8, sensitivity: 1, n: 100, steps: 50, step_size: 0.1, smooth: 1, strong_convexity: 0.1}}`,
		privacy.LastIterate{Variant: "full-batch-strongly-convex", Sigma: 8, Sensitivity: 1, N: 100, Steps: 50, StepSize: 0.1, Smooth: 1, StrongConvexity: 0.1}},
	{`{last_iterate: {kind: one-pass, sigma: 3, sensitivity: 1, n: 103, batch: 5, step_size: 0.02, smooth: 1, early: 0.1, rounding: 1e-6}}`,
		privacy.LastIterate{Variant: "one-pass", Sigma: 3, Sensitivity: 1, N: 103, Batch: 5, StepSize: 0.02, Smooth: 1, Early: 0.1, Rounding: 1e-6}},
	{`{last_iterate: {kind: cyclic-convex, sigma: 3, sensitivity: 1, n: 100, batch: 5, epochs: 50, step_size: 0.02, smooth: 1, diameter: 1}}`,
		privacy.LastIterate{Variant: "cyclic-convex", Sigma: 3, Sensitivity: 1, N: 100, Batch: 5, Epochs: 50, StepSize: 0.02, Smooth: 1, Diameter: 1}},
	{"{\"gaussian\":\n {\"sigma\": 1,}}", privacy.Gaussian{Sigma: 1}}, // YAML, though not JSON
	{"compose:\n- &a\n  pure: {eps: 1}\n- *a\n", privacy.Compose{Events: []privacy.Event{privacy.Pure{Eps: 1}, privacy.Pure{Eps: 1}}}},
	{"# a comment\r\nrepeat:\r\n  n: 2\r\n  event:\r\n    pure: {eps: 1}\r\n", privacy.Repeat{N: 2, Event: privacy.Pure{Eps: 1}}},
	{"\xef\xbb\xbf" + `{"pure":{"eps":1}}`, privacy.Pure{Eps: 1}},
	{`{repeat: {n: 0x10, event: {pure: {eps: 0b11}}}}`, privacy.Repeat{N: 16, Event: privacy.Pure{Eps: 3}}},
}

func TestParse(t *testing.T) {
	for _, c := range accepted {
		got, problems := Parse([]byte(c.text), "f")
		if problems != nil {
			t.Errorf("%s: %v", c.text, problems)
			continue
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %#v, want %#v", c.text, got, c.want)
		}
	}
}

// refused are texts and a part of each problem that must be told, with the
// place; a text must have exactly as many problems as are listed.
var refused = []struct {
	text string
	want []string
}{
	{``, []string{`f:1:1: is empty (write relation, event and query)`}},
	{"# nothing\n", []string{`f:1:1: is empty`}},
	{`gaussian`, []string{`f:1:1: the event gaussian has no fields (such as {gaussian: {sigma: 1}})`}},
	{`3`, []string{`f:1:1: an event must be a mapping with one key`}},
	{`[]`, []string{`f:1:1: an event must be a mapping, not a list (write compose: [...])`}},
	{`{}`, []string{`f:1:1: an event must be a mapping with one key`}},
	{`{gausian: {sigma: 1}}`, []string{`f:1:2: gausian: unknown event (did you mean gaussian?)`}},
	{`{wavelet: {sigma: 1}}`, []string{`f:1:2: wavelet: unknown event (known events: gaussian, laplace, discrete_gaussian, discrete_laplace, pure, approx, zcdp, bounded_range, key_selection, key_threshold, randomized_response, ` +
		`compose, repeat, poisson, without_replacement, with_replacement, multistage, by_group, rows_of_unit, rotation, shuffled, last_iterate)`}},
	{`{srswor: {sigma: 1}}`, []string{`(did you mean without_replacement?)`}},
	{`{gaussian: }`, []string{`f:1:12: gaussian: has no fields`}},
	{`{gaussian: 1}`, []string{`f:1:12: gaussian: must be a mapping of fields, not "1"`}},
	{`{gaussian: {}}`, []string{`f:1:12: gaussian.sigma: is missing`}},
	{`{gaussian: {sigma: 1, sigma: 2}}`, []string{`f:1:23: gaussian.sigma: is given twice (first in line 1)`}},
	{`{"gaussian": {"sigma": 1, "sigma": 2}}`, []string{`f:1:27: gaussian.sigma: is given twice (first in line 1)`}},
	{`{gaussian: {sigma: 0}}`, []string{`f:1:20: gaussian.sigma: must be above 0`}},
	{`{gaussian: {sigma: -1}}`, []string{`must be above 0`}},
	{`{gaussian: {sigma: .nan}}`, []string{`must be a finite number, not .nan`}},
	{`{gaussian: {sigma: -.inf}}`, []string{`must be a finite number`}},
	{`{gaussian: {sigma: Infinity}}`, []string{`must be a finite number`}},
	{`{gaussian: {sigma: 1e999}}`, []string{`is too large`}},
	{`{gaussian: {sigma: 1e-999}}`, []string{`is too small to be told from 0`}},
	{`{gaussian: {sigma: one}}`, []string{`must be a number, not "one"`}},
	{`{gaussian: {sigma: true}}`, []string{`must be a number, not "true"`}},
	{`{gaussian: {sigma: null}}`, []string{`gaussian.sigma: is missing`}},
	{`{gaussian: {sigma: [1]}}`, []string{`must be a number, not a list`}},
	{`{gaussian: {sigma: {a: 1}}}`, []string{`must be a number, not a mapping`}},
	{`{gaussian: {sigma: 010}}`, []string{`must not start with 0`}},
	{`{gaussian: {sigma: 1 000}}`, []string{`must be a number`}},
	{`{gaussian: {sigma: 0x1p-3}}`, []string{`must be a number`}},
	{`{gaussian: {sigma: ` + strings.Repeat("1", 100) + `}}`, []string{`too long for a number`}},
	{`{gaussian: {sigma:1.0}}`, []string{`f:1:13: gaussian["sigma:1.0"]: unknown field (YAML needs a space after the colon: sigma: 1.0)`, `gaussian.sigma: is missing`}},
	{`{gaussian: {sigm: 1}}`, []string{`f:1:13: gaussian.sigm: unknown field (did you mean sigma?)`, `is missing`}},
	{`{gaussian: {noise_multiplier: 1}}`, []string{`(did you mean sigma?)`, `is missing`}},
	{`{gaussian: {sigma: 1, sensitivity: 1}}`, []string{`f:1:36: gaussian.sensitivity: must say under which relation (write {add-remove: 1} or {replace-one: 1}`}},
	{`{gaussian: {sigma: 1, sensitivity: {add_remove: 1}}}`, []string{`did you mean add-remove?`}},
	{`{gaussian: {sigma: 1, sensitivity: {add-remove: 0}}}`, []string{`gaussian.sensitivity.add-remove: must be above 0`}},
	{`{discrete_laplace: {scale: 1, sensitivity: {add-remove: 1.5}}}`, []string{`must be a whole number of at least 1`}},
	{`{discrete_gaussian: {sigma: 1, coordinates: 1.5}}`, []string{`must be a whole number`}},
	{`{pure: {eps: -1}}`, []string{`must not be negative`}},
	{`{pure: {epsilon: 1}}`, []string{`did you mean eps?`, `is missing`}},
	{`{approx: {eps: 1, delta: 1}}`, []string{`f:1:26: approx.delta: must be at least 0 and below 1`}},
	{`{by_group: {fixed: "true", event: {pure: {eps: 1}}}}`, []string{`f:1:20: by_group.fixed: must be true or false (write fixed: true, or leave it out)`}},
	{`{by_group: {fixed: 1, event: {pure: {eps: 1}}}}`, []string{`by_group.fixed: must be true or false`}},
	{`{by_group: {fixed: true}}`, []string{`by_group.event: is missing`}},
	{`{zcdp: {rho: -0.1}}`, []string{`must not be negative`}},
	{`{randomized_response: {k: 1, eps0: 1}}`, []string{`must be at least 2`}},
	{`{randomized_response: {k: 1e10, eps0: 1}}`, []string{`must be at most 2147483647`}},
	{`{compose: []}`, []string{`compose: must be a list of at least one event`}},
	{`{compose: {pure: {eps: 1}}}`, []string{`compose: must be a list of at least one event`}},
	{`{compose: [{pure: {eps: 1}}, {pure: {eps: -1}}, {nope: {}}]}`, []string{`compose[1].pure.eps: must not be negative`, `compose[2].nope: unknown event`}},
	{`{repeat: {n: 0, event: {pure: {eps: 1}}}}`, []string{`must be at least 1`}},
	{`{repeat: {n: 1.5, event: {pure: {eps: 1}}}}`, []string{`must be a whole number`}},
	{`{repeat: {n: 1e19, event: {pure: {eps: 1}}}}`, []string{`too large: at most 9223372036854775807`}},
	{`{repeat: {n: 1e-400, event: {pure: {eps: 1}}}}`, []string{`too small`}},
	{`{repeat: {n: 5}}`, []string{`repeat.event: is missing`}},
	{`{poisson: {rate: 0, event: {pure: {eps: 1}}}}`, []string{`f:1:18: poisson.rate: must be above 0 and at most 1`}},
	{`{poisson: {rate: 1.0000001, event: {pure: {eps: 1}}}}`, []string{`must be above 0 and at most 1`}},
	{`{without_replacement: {n: 11, N: 10, event: {pure: {eps: 1}}}}`, []string{`f:1:27: without_replacement.n: must be at most N (11 > 10)`}},
	{`{with_replacement: {n: 0, N: 10, event: {pure: {eps: 1}}}}`, []string{`must be at least 1`}},
	{`{multistage: {stages: [], event: {pure: {eps: 1}}}}`, []string{`multistage.stages: must be a list of at least one (such as stages:`}},
	{`{multistage: {stages: [{take: 3, of: 2}], event: {pure: {eps: 1}}}}`, []string{`f:1:31: multistage.stages[0].take: must be at most of (3 > 2)`}},
	{`{multistage: {stages: [3], event: {pure: {eps: 1}}}}`, []string{`multistage.stages[0]: must be a mapping of fields, not "3"`}},
	{`{repeat: {n: 1e13, event: {pure: {eps: 1}}}}`, []string{`f:1:14: repeat.n: must lie between 1 and 1e+12`}},
	{`{gaussian: {sigma: 1, sensitivity: {add-remove: 1, replace-one: 3}}}`, []string{`f:1:65: gaussian.sensitivity.replace-one: cannot exceed twice the add-remove sensitivity`}},
	{`{last_iterate: {kind: one-pass, sigma: 3, sensitivity: 1, n: 100, batch: 5, epochs: 1, step_size: 1, smooth: 1, diameter: 1, early: 2}}`,
		[]string{`early: must be above 0 and at most 1`, `epochs: unknown field`, `diameter: unknown field`}},
	{`{last_iterate: {kind: sgd}}`, []string{`must be one of full-batch-strongly-convex,`}},
	{`{last_iterate: {kind: cyclic-convex, sigma: 3, sensitivity: 1, n: 100, batch: 500, epochs: 50, step_size: 5, smooth: 1, diameter: 1, steps: 3}}`,
		[]string{`batch: must be at most n (500 > 100)`, `step_size: must be at most 2/smooth = 2`, `steps: unknown field`}},
	{`{gaussian: {sigma: 1}, laplace: {scale: 1}}`, []string{`f:1:24: an event has exactly one key, its kind, and not 2: gaussian, laplace`}},
	{`{"gaussian": {"sigma": 1}`, []string{`f:1:26: is not JSON: unexpected end of JSON input`}},
	{`{"gaussian": {"sigma": 1}} {"a": 1}`, []string{`f:1:28: is not JSON: invalid character '{' after top-level value`}},
	{`{"gaussian": {"sigma": @1}}`, []string{`f:1:24: is not JSON: invalid character '@'`}},
	{`{gaussian: {sigma: 1}`, []string{`f:1:21: is not YAML: did not find expected ',' or '}' (the { at 1:1 is not closed)`}},
	{"repeat:\n  n: 5\n  event:\n    gaussian: {sigma: [1}\n", []string{`f:4:25: is not YAML: did not find expected ',' or ']' (the [ at 4:23 is not closed)`}},
	{"repeat:\n  n: 5\n event: 3\n", []string{`f:3:`}},
	{"a: 1\n---\nb: 2\n", []string{`f:2:1: has a second YAML document (one file is one question)`}},
	{"pure: {eps: !!float 1}", []string{`f:1:13: pure.eps: has a YAML tag, which this language does not use (leave the tag out)`}},
	{"pure: {<<: {eps: 1}}", []string{`f:1:8: pure: merge keys (<<) are not part of this language (write the keys out)`}},
	{"pure: &a {eps: *a}", []string{`f:1:16: pure.eps: must be a number, not a mapping`}},
	{"pure: {eps: *a}", []string{`unknown anchor`}},
	{"{[1]: 2}", []string{`f:1:2: has a key that is not a text`}},
	{"pure: {eps: \"\x00\"}", []string{`f:1:`}},
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		_, problems := Parse([]byte(c.text), "f")
		if len(problems) != len(c.want) {
			t.Errorf("%s: %d problems, want %d:\n%v", c.text, len(problems), len(c.want), problems)
			continue
		}
		told := problems.Error()
		for _, w := range c.want {
			if !strings.Contains(told, w) {
				t.Errorf("%s: told\n%s\nwant %s", c.text, told, w)
			}
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("%s: a problem without a place or a message: %+v", c.text, p)
			}
		}
	}
}

func TestProblemsOfOneTextAreToldTogetherInOrder(t *testing.T) {
	text := `relation: both
event:
  repeat:
    n: 0
    event: {poisson: {rate: 2, event: {gaussian: {sigm: 1}}}}
    times: 4
query: {}
extra: 1
`
	_, problems := ParseQuery([]byte(text), "job.yaml")
	want := `job.yaml:1:11: relation: must be add-remove or replace-one (add-remove or replace-one; there is no default)
job.yaml:4:8: event.repeat.n: must be at least 1
job.yaml:5:29: event.repeat.event.poisson.rate: must be above 0 and at most 1
job.yaml:5:50: event.repeat.event.poisson.event.gaussian.sigma: is missing
job.yaml:5:51: event.repeat.event.poisson.event.gaussian.sigm: unknown field (did you mean sigma?)
job.yaml:6:5: event.repeat.times: unknown field (did you mean n?)
job.yaml:7:8: query: asks nothing (one of {delta: 1e-6}, {epsilon: 1}, {calibrate: sigma, epsilon: 1, delta: 1e-6})
job.yaml:8:1: extra: unknown field (known fields: relation, event, query)`
	if got := problems.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
