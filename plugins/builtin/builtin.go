package builtin

import (
	"context"
	"runtime"
	"sync"

	"github.com/dprelease/dprelease/plugins/bounds"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/distinct"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/marginals"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/randomizedresponse"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/regression"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sgd"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/unitrows"
	"github.com/dprelease/dprelease/plugins/variance"
)

// all lists the built-in mechanisms.
var all = []struct {
	sdk.Mechanism
	// words are other words for it: those of SQL, of other libraries and of everyday speech.
	words string
	// parallel says that it is [onAllCores].
	parallel bool
}{
	{bounds.Mechanism{}, "bound clip clipping max maximum approx_bounds range", false},
	{count.Mechanism{}, "counts frequency frequencies crosstab tabulate size n", false},
	{distinct.Mechanism{}, "count_distinct distinct_count unique nunique cardinality units persons people users", false},
	{histogram.Mechanism{}, "hist bins binned distribution", false},
	{marginals.Mechanism{}, "marginal margins tables crosstabs contingency k_way cube", true},
	{mean.Mechanism{}, "average avg expectation", false},
	{median.Mechanism{}, "med middle percentile_50 p50", false},
	{proportion.Mechanism{}, "share percentage percent fraction prevalence rate frac", false},
	{quantiles.Mechanism{},
		"quantile percentile percentiles decile deciles quartile quartiles approx_quantile quantile_cont percentile_cont", false},
	{randomizedresponse.Mechanism{}, "rr krr ldp local", false},
	{ratio.Mechanism{}, "quotient ratio_of_sums sum_ratio", false},
	{regression.Mechanism{}, "ols lm least_squares linear_regression", false},
	{sgd.Mechanism{}, "logistic logistic_regression gradient_descent dpsgd dp_sgd", true},
	{sum.Mechanism{}, "total totals sums add aggregate", false},
	{unitrows.Mechanism{}, "", false},
	{variance.Mechanism{}, "var var_pop var_samp variances dispersion", false},
	{variance.SD(), "stddev std stdev stddev_pop stddev_samp standard_deviation sigma", false},
}

// Mechanisms are the built-in mechanisms, by name.
func Mechanisms() map[string]sdk.Mechanism {
	out := map[string]sdk.Mechanism{}
	for _, m := range all {
		out[m.Describe().Name] = m.Mechanism
	}
	return out
}

// Served returns the built-in mechanisms for the process that serves them to a host.
func Served() []sdk.Mechanism {
	var out []sdk.Mechanism
	for _, m := range all {
		if m.parallel {
			out = append(out, onAllCores{m.Mechanism})
		} else {
			out = append(out, onOneCore{m.Mechanism})
		}
	}
	return out
}

// onOneCore is a mechanism that computes on one core: looking for work on the others would take
// them from the host, which decodes rows meanwhile.
type onOneCore struct{ sdk.Mechanism }

// Release computes on one core, unless a mechanism beside it wants all.
func (m onOneCore) Release(ctx context.Context, r sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	cores.use(0)
	return m.Mechanism.Release(ctx, r, rows, h)
}

// onAllCores is a mechanism that computes for longer than the host decodes its rows.
type onAllCores struct{ sdk.Mechanism }

// Release computes on all cores.
func (m onAllCores) Release(ctx context.Context, r sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	cores.use(1)
	defer cores.use(-1)
	return m.Mechanism.Release(ctx, r, rows, h)
}

// cores counts the releases that use all cores.
var cores counter

type counter struct {
	sync.Mutex
	n int
}

// use notes so many more, and gives the process the cores that it wants.
func (c *counter) use(more int) {
	c.Lock()
	defer c.Unlock()
	if c.n += more; c.n > 0 {
		runtime.SetDefaultGOMAXPROCS()
	} else {
		runtime.GOMAXPROCS(1) // nothing where it is so already, as where the sandbox started it
	}
}
