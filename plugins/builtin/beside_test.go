package builtin

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// rowsOf are rows of the columns of sdktest.
func rowsOf(seed uint64, n int) sdktest.Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{}, BatchRows: 32}
	for _, c := range sdktest.Columns() {
		var v sdk.Values
		for range n {
			if c.Type == sdk.Category {
				v.Codes = append(v.Codes, int32(rng.IntN(len(c.Domain))))
			} else {
				v.Float64 = append(v.Float64, c.Lower+(c.Upper-c.Lower)*rng.Float64())
			}
		}
		out.Columns[c.Name] = v
	}
	return out
}

// A release does what it does alone while releases of all mechanisms, on other rows, go on beside it in the process: nothing
// of one stays for another (internal/plugin/host/beside.proof.md).
func TestBuiltinsBesideOneAnother(t *testing.T) {
	type job struct {
		name  string
		m     sdk.Mechanism
		req   sdk.PlanRequest
		table sdktest.Table
		alone string
	}
	run := func(j *job) (saw string, ok bool) {
		out, err := sdktest.Run(j.m, j.req, j.table, nil)
		return fmt.Sprint(out.Calls, out.Result, err), err == nil
	}
	var jobs []*job
	for _, m := range tier.Some(Served(), 4) {
		name := m.Describe().Name
		reqs, err := sdktest.Requests(t.Context(), sdktest.InProcess(m), 5)
		if err != nil {
			t.Fatal(name, err)
		}
		worked := 0
		for i, req := range reqs {
			for seed := range uint64(2) {
				if worked >= 4 {
					break
				}
				rows := 200
				if n := req.Public.Design.SampleSize; n > 0 {
					rows = int(n)
				} else if n := req.Public.Population; n > 0 {
					rows = int(n)
				}
				j := &job{name: fmt.Sprintf("%s %d %d", name, i, seed), m: m, req: req, table: rowsOf(seed, min(rows, 2000))}
				var ok bool
				if j.alone, ok = run(j); ok {
					worked++
					jobs = append(jobs, j)
				}
			}
		}
		if worked < 2 {
			t.Errorf("%s: none of %d requests is carried out", name, len(reqs))
		}
	}
	var all sync.WaitGroup
	for range 2 {
		for _, j := range jobs {
			all.Go(func() {
				if saw, _ := run(j); saw != j.alone {
					t.Errorf("%s: beside others it is another release", j.name)
				}
			})
		}
	}
	all.Wait()
}
