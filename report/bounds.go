package report

import (
	"fmt"
	"maps"
	"slices"
)

func (v *view) addBounds(r *Report) {
	used := map[string]bool{}
	add := func(what string, g Guarantee) {
		for m := range g.Methods {
			used[m] = true
		}
		v.Bounds = append(v.Bounds, boundView{What: what, Delta: Spent(g.Delta)})
	}
	all := []Guarantee{r.Guarantee}
	add(v.T("bounds.job"), r.Guarantee)
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		add(v.T("bounds.draw", d.Name), d.Guarantee)
		all = append(all, d.Guarantee)
	}
	for _, e := range r.Releases[:min(len(r.Releases), maxWords)] {
		add(v.T("bounds.release", e.Name), e.Guarantee)
		all = append(all, e.Guarantee)
	}
	for _, m := range methodNames {
		if used[m] {
			v.Methods, v.MethodWords = append(v.Methods, m), append(v.MethodWords, v.T("method."+m))
			delete(used, m)
		}
	}
	v.Methods = append(v.Methods, slices.Sorted(maps.Keys(used))...)
	for i, g := range all {
		for _, m := range v.Methods {
			c := boundCell{Text: "–"}
			if eps, ok := g.Methods[m]; ok {
				c = boundCell{Text: Spent(eps), Charged: m == g.Method}
			}
			v.Bounds[i].Cells = append(v.Bounds[i].Cells, c)
		}
	}
	v.addReasons(r)
}

// addReasons says once for each method and reason where it had no bound.
func (v *view) addReasons(r *Report) {
	at := map[[2]string]int{}
	add := func(where string, g Guarantee) {
		for _, u := range g.Unsupported {
			key := [2]string{u.Method, u.Reason}
			if k, ok := at[key]; ok {
				if len(v.Unsupported[k].Where) < 120 {
					v.Unsupported[k].Where += ", " + where
				}
				continue
			}
			if len(v.Unsupported) < 40 {
				at[key] = len(v.Unsupported)
				v.Unsupported = append(v.Unsupported, reasonView{u.Method, u.Reason, where})
			}
		}
	}
	add("the whole job", r.Guarantee)
	for _, d := range r.Draws {
		add("draw "+d.Name, d.Guarantee)
	}
}

// addClaims gathers the published figures that are not charged, each once.
func (v *view) addClaims(r *Report) {
	seen := map[string]bool{}
	add := func(where string, g Guarantee) {
		for _, c := range g.Claimed {
			key := fmt.Sprint(c.Source, c.Epsilon, c.Delta)
			if seen[key] || len(v.Claims) >= 40 {
				continue
			}
			seen[key] = true
			v.Claims = append(v.Claims, claimView{where, c.Source, point(c.Epsilon, c.Delta, Allowed), charge(g), c.Why})
		}
	}
	add("everything this job released", r.Guarantee)
	for _, d := range r.Draws {
		add("draw "+d.Name, d.Guarantee)
	}
	for _, e := range r.Releases {
		add("release "+e.Name, e.Guarantee)
	}
}
