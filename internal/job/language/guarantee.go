package language

import (
	"math/big"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/privacy"
)

// guarantee is a mapping with epsilon and delta, or with rho.
var guarantee = sync.OnceValue(func() kind[job.Guarantee] {
	return spending(func(g *job.Guarantee) *job.Guarantee { return g },
		key("delta", amount(span{lo: "0", hi: "1", hiOpen: true}), func(g *job.Guarantee) **big.Rat { return &g.Delta },
			"δ; in a release in rho that at which the report translates it", otherwise("0"), example(`"1e-7"`)))
})

// spending is a mapping with epsilon or with rho, and other keys.
func spending[T any](at func(*T) *job.Guarantee, more ...field[T]) kind[T] {
	epsilon := func(opts ...option) field[T] {
		return key("epsilon", amount(span{lo: "0", loOpen: true}), func(of *T) **big.Rat { return &at(of).Epsilon },
			"ε, an exact decimal number", append(opts, example(`"0.5"`))...)
	}
	rho := func(opts ...option) field[T] {
		return key("rho", amount(span{lo: "0", hi: "1000000", loOpen: true}), func(of *T) **big.Rat { return &at(of).Rho },
			"ρ of zero-concentrated differential privacy, instead of epsilon", append(opts, example(`"0.1"`))...)
	}
	with := func(these ...field[T]) []field[T] { return append(these, more...) }
	form, point, concentrated := object(with(epsilon(), rho())...), object(with(epsilon(required()))...), with(rho(required()))
	form.schema["oneOf"] = []schema{{"required": []string{"epsilon"}}, {"required": []string{"rho"}}}
	facts := form.facts
	form.facts = func(of *T) any {
		is := facts(of).(canon)
		if at(of).Rho != nil {
			delete(is, "epsilon") // it is worked out, and an answer
		}
		return is
	}
	form.read = func(c *cursor, p lang.Place, into *T) bool {
		if !says(p.Node, "rho") {
			return point.read(c, p, into)
		}
		pairs, ok := c.Pairs(p)
		if ok {
			c.readFields(p, pairs, decls(concentrated), reader(c, concentrated, into), func(key string) string {
				if key == "epsilon" {
					return "leave it out: rho replaces it"
				}
				return ""
			})
		}
		return ok
	}
	return form
}

// says reports whether a mapping has a key.
func says(n *yaml.Node, key string) bool {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return true
			}
		}
	}
	return false
}

// rho translates the guarantees in ρ.
func (k *checker) rho() {
	for i := range k.j.Releases {
		k.rhoOf(i, &k.j.Releases[i])
	}
}

// rhoOf translates the ρ of one release.
func (k *checker) rhoOf(i int, r *job.Release) {
	g, path := &r.Guarantee, guaranteePath(k.j, i)
	switch {
	case g.Rho == nil || g.Delta == nil || r.Shares: // told already
		return
	case k.j.Has(job.Key(path, "delta")) && g.Delta.Sign() > 0:
	case k.j.Budget.Limit.Rho == nil:
		hint := "say delta, or give budget.limit in rho"
		if r.Measures != "" { // which says no delta
			hint = "say epsilon instead, or give budget.limit in rho"
		}
		k.wrong(path, hint, rhoAtDelta)
		return
	default:
		g.Delta = job.ShownDelta
	}
	if err := job.Translate(g, k.j.Dataset.Relation); err != nil {
		k.wrong(job.Key(path, "rho"), "say a smaller delta", "%v", err)
	}
}

const rhoAtDelta = "needs a delta above 0: the budget is in ε and δ, and a rho stands for an ε at some δ"

// ParseGuarantee reads a guarantee as a report writes it: ε and δ, or a ρ at a δ.
func ParseGuarantee(epsilon, delta, rho string, at *big.Rat, rel privacy.Relation) (g job.Guarantee, err error) {
	if rho != "" {
		if g.Rho, err = ParseAmount(rho); err == nil {
			g, err = job.InRho(g.Rho, at, rel)
		}
		return g, err
	}
	if g.Epsilon, err = ParseAmount(epsilon); err == nil {
		g.Delta, err = ParseAmount(delta)
	}
	return g, err
}
