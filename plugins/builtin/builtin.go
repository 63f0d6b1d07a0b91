package builtin

import (
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

// Mechanisms are the built-in mechanisms, by name.
func Mechanisms() map[string]sdk.Mechanism {
	all := map[string]sdk.Mechanism{}
	for _, m := range []sdk.Mechanism{
		bounds.Mechanism{}, count.Mechanism{}, distinct.Mechanism{}, histogram.Mechanism{}, marginals.Mechanism{}, mean.Mechanism{},
		median.Mechanism{}, proportion.Mechanism{}, quantiles.Mechanism{}, randomizedresponse.Mechanism{}, ratio.Mechanism{},
		regression.Mechanism{}, sgd.Mechanism{}, sum.Mechanism{}, unitrows.Mechanism{}, variance.Mechanism{}, variance.SD(),
	} {
		all[m.Describe().Name] = m
	}
	return all
}
