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
	"github.com/dprelease/dprelease/plugins/variance"
)

// Mechanisms are the built-in mechanisms, by name.
func Mechanisms() map[string]sdk.Mechanism {
	return map[string]sdk.Mechanism{
		"bounds":              bounds.Mechanism{},
		"count":               count.Mechanism{},
		"distinct":            distinct.Mechanism{},
		"histogram":           histogram.Mechanism{},
		"marginals":           marginals.Mechanism{},
		"mean":                mean.Mechanism{},
		"median":              median.Mechanism{},
		"proportion":          proportion.Mechanism{},
		"quantiles":           quantiles.Mechanism{},
		"randomized-response": randomizedresponse.Mechanism{},
		"ratio":               ratio.Mechanism{},
		"regression":          regression.Mechanism{},
		"sd":                  variance.SD(),
		"sgd":                 sgd.Mechanism{},
		"sum":                 sum.Mechanism{},
		"variance":            variance.Mechanism{},
	}
}
