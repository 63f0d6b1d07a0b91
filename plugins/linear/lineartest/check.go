package lineartest

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Case is a request with what a broken plan of it would be.
type Case struct {
	Name    string
	Request sdk.PlanRequest
	// Twins are requests whose plans leave something out: they must not hold for the units
	// of Request.
	Twins map[string]sdk.PlanRequest
	// Least is the share of the declared sensitivity that some pair must use up; 0 stands
	// for 0.999.
	Least float64
}

// Check tries all units of each case: none moves the query by more than is declared, some
// pair moves it by as much, and each twin is refuted.
func Check(t *testing.T, m sdk.Mechanism, cases ...Case) {
	t.Helper()
	for _, c := range cases {
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

// Cases are those of a mechanism by groups: every combination of the relation, a filter,
// groups, a cap and kinds of noise, each with twins that leave out the cap or the rows that
// vanish. Params must have room for `"by"` and `"noise"`: they are written as "{" and what
// follows it.
func Cases(params string, columns ...sdk.Column) []Case {
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c", "d"}, Missing: sdk.MissingDrop}
	pass := sdk.Column{Name: "pass", Type: sdk.Category, Domain: []string{"yes"}, Missing: sdk.MissingDrop}
	columns = append(columns, g, pass)
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
			filter, groups := with(`,"by":"pass"`), with(`,"by":"g"`)
			all = append(all,
				Case{Name: name + ", filter", Request: filter},
				Case{Name: name + ", groups", Request: groups},
				Case{Name: name + ", filter, cap", Request: With(filter, 1, 2), Twins: map[string]sdk.PlanRequest{"no cap": filter}},
				Case{Name: name + ", groups, cap", Request: With(groups, 2, 1), Twins: map[string]sdk.PlanRequest{
					"no cap": groups, "one group": With(groups, 1, 1),
				}},
			)
		}
	}
	return all
}
