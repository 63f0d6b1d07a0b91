package sdktest

import (
	"math/rand/v2"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Example is a generated table that a plan admits, and its number of rows.
func Example(req sdk.PlanRequest, plan sdk.Plan) (Table, int) {
	g := newGenerator(req, plan, nil, rand.New(rand.NewPCG(1, 2)))
	n := 5
	if size := g.design.SampleSize; size > 0 {
		n = int(size)
	}
	return g.layout.table(g.table(n, mixed), 0), n
}
