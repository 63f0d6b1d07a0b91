//go:build linux

package host

import (
	"context"
	"testing"

	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// BenchmarkFixedCost is a plugin call without rows: start, handshake, Describe
// twice, Plan twice, Release of an empty table, stop. Reference: at most 100 ms.
// The pinned executable is read and hashed besides (this test binary: 30 MB).
func BenchmarkFixedCost(b *testing.B) {
	ctx := context.Background()
	built, pinned := command(b, "good"), command(b, "good")
	pinned.SHA256 = digest(b, pinned.Path)
	confined, stranger := built, pinned
	confined.Confine.Mode, stranger.Confine.Mode = sandbox.Required, sandbox.Required
	for name, c := range map[string]Command{"built-in": built, "pinned": pinned, "built-in, confined": confined, "pinned, confined": stranger} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := Start(ctx, c, Limits{})
				if err != nil {
					b.Fatal(err)
				}
				plan, err := p.Plan(ctx, request())
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Release(ctx, releaseOf(request(), plan), func(context.Context, RowWriter) error { return nil }, &fakeDrawer{}); err != nil {
					b.Fatal(err)
				}
				p.Close()
			}
		})
	}
}

// BenchmarkRows hands 16 million float64 rows to a process that sums them.
// Reference: at most 1.4 ns a row in shared memory (the plain sum is 0.8 of them), 2
// to 4 for an Arrow stream over the socket (a bare socket costs 2.3).
func BenchmarkRows(b *testing.B) {
	for name, mode := range map[string][]string{"columns": {"bench"}, "socket": {"raw", "arrow-one"}} {
		b.Run(name, func(b *testing.B) {
			p := start(b, mode[0], Limits{}, mode[1:]...)
			ctx := context.Background()
			plan, err := p.Plan(ctx, request())
			if err != nil {
				b.Fatal(err)
			}
			x := make([]float64, 1<<20)
			const blocks = 16
			b.SetBytes(8 * blocks << 20)
			for b.Loop() {
				_, err := p.Release(ctx, releaseOf(request(), plan), func(_ context.Context, w RowWriter) error {
					for range blocks {
						if err := w.Write(sdk.Batch{Rows: len(x), Columns: []sdk.Values{{Float64: x}}}); err != nil {
							return err
						}
					}
					return nil
				}, &fakeDrawer{})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(blocks<<20), "ns/row")
		})
	}
}

// benchSum sums one column and asks for one draw.
var benchSum = sum{plan: func(req sdk.PlanRequest) (sdk.Plan, error) {
	plan, err := sum{event: laplace}.defaultPlan(req)
	plan.Columns = []string{"x"}
	return plan, err
}, release: func(ctx context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	var total float64
	for {
		b, err := rows.Next()
		if err != nil {
			break
		}
		for _, x := range b.Float64(0) {
			total += x
		}
	}
	_, err := h.AddLaplace(ctx, laplace, []int64{int64(total)})
	return good(1, 2, 3), err
}}

// BenchmarkNoiseCall is one step of an iterative mechanism: a fresh sample and one
// vector of noise, each a call to the host.
func BenchmarkNoiseCall(b *testing.B) {
	p := start(b, "steps", Limits{})
	ctx := context.Background()
	plan, err := p.Plan(ctx, request())
	if err != nil {
		b.Fatal(err)
	}
	steps := 0
	for b.Loop() {
		if _, err := p.Release(ctx, releaseOf(request(), plan), rows, &fakeDrawer{}); err != nil {
			b.Fatal(err)
		}
		steps += benchSteps
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(steps), "µs/step")
}

const benchSteps = 1000

var benchStep = privacy.Poisson{Rate: 0.5, Event: gaussian}

var stepping = sum{event: privacy.Repeat{N: benchSteps, Event: benchStep},
	release: func(ctx context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
		if _, _, err := tally(rows); err != nil {
			return sdk.Result{}, err
		}
		for range benchSteps {
			if _, err := h.NextSample(ctx, benchStep); err != nil {
				return sdk.Result{}, err
			}
			if _, err := h.AddGaussian(ctx, gaussian, make([]int64, 32)); err != nil {
				return sdk.Result{}, err
			}
		}
		return good(1, 2, 3), nil
	}}
