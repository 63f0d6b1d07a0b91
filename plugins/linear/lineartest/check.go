package lineartest

import (
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Case is a request with requests that plan too little noise for it.
type Case struct {
	Name    string
	Request sdk.PlanRequest
	// Twins are requests whose plans leave something out. Their plans must not hold for the units
	// of Request.
	Twins map[string]sdk.PlanRequest
	// Least is the share of the declared sensitivity that some pair must use; 0 stands for 0.999.
	Least float64
}

// Check tries all units of each case. No pair may move the query further than declared, some pair
// must move it as far, and each twin must be refuted. The fast tier tries every third case.
func Check(t *testing.T, m sdk.Mechanism, cases ...Case) {
	t.Helper()
	for _, c := range tier.Some(cases, 3) {
		least := c.Least
		if least == 0 {
			least = 0.999
		}
		used, err := Used(m, c.Request, c.Request)
		if err != nil || used > 1 || used < least {
			t.Errorf("%s: %v of what is declared is used, want between %v and 1 (%v)", c.Name, used, least, err)
		}
		for name, twin := range c.Twins {
			if used, err := Used(m, twin, c.Request); err != nil || used <= 1 {
				t.Errorf("%s, twin %q: not refuted, %v of what it declares is used (%v)", c.Name, name, used, err)
			}
		}
	}
}

// Cases are the cases of a mechanism that takes groups: every combination of relation, filter,
// groups, cap and noise, with twins that leave out the cap, or plan for a smaller one. Params is the text that follows the
// parameters "noise" and "by": empty, or a comma and more parameters, then "}".
func Cases(params string, columns ...sdk.Column) []Case {
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c", "d"}, Missing: sdk.MissingDrop}
	pass := sdk.Column{Name: "pass", Type: sdk.Category, Domain: []string{"yes"}, Missing: sdk.MissingDrop}
	kept := sdk.Column{Name: "kept", Type: sdk.Category, Domain: []string{"a", "b"}, Missing: sdk.MissingDrop, Immutable: true}
	columns = append(columns, g, pass, kept)
	var all []Case
	for _, noise := range []string{"laplace", "gaussian"} {
		for _, population := range []int64{0, 7} {
			with := func(by string) sdk.PlanRequest {
				return Request(`{"noise":"`+noise+`"`+by+params, population, columns...)
			}
			name := noise + ", replace-one"
			if population == 0 {
				name = noise + ", add-remove"
			}
			filter, groups, stays := with(`,"by":"pass"`), with(`,"by":"g"`), with(`,"by":"kept"`)
			all = append(all,
				Case{Name: name + ", filter", Request: filter},
				Case{Name: name + ", groups", Request: groups},
				Case{Name: name + ", filter, groups that stay", Request: stays},
				Case{Name: name + ", filter, cap", Request: With(filter, 1, 2), Twins: map[string]sdk.PlanRequest{"no cap": filter}},
				Case{Name: name + ", groups, cap", Request: With(groups, 2, 1), Twins: map[string]sdk.PlanRequest{
					"no cap": groups, "one group": With(groups, 1, 1),
				}},
				Case{Name: name + ", filter, cap found", Request: Found(filter, 2, 3),
					Twins: map[string]sdk.PlanRequest{"noise for fewer rows than are kept": Found(filter, 1, 3)}},
			)
		}
	}
	return all
}
