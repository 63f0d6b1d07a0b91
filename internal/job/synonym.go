package job

import (
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job/lang"
)

// synonyms are other words for mechanisms: those of SQL, of other libraries and of
// everyday speech.
var synonyms = map[string][]string{
	"bounds":              {"bound", "clip", "clipping", "max", "maximum", "approx_bounds", "range"},
	"count":               {"counts", "frequency", "frequencies", "crosstab", "tabulate", "size", "n"},
	"distinct":            {"count_distinct", "distinct_count", "unique", "nunique", "cardinality", "units", "persons", "people", "users"},
	"histogram":           {"hist", "bins", "binned", "distribution"},
	"marginals":           {"marginal", "margins", "tables", "crosstabs", "contingency", "k_way", "cube"},
	"mean":                {"average", "avg", "expectation"},
	"median":              {"med", "middle", "percentile_50", "p50"},
	"proportion":          {"share", "percentage", "percent", "fraction", "prevalence", "rate", "frac"},
	"quantiles":           {"quantile", "percentile", "percentiles", "decile", "deciles", "quartile", "quartiles", "approx_quantile", "quantile_cont", "percentile_cont"},
	"randomized-response": {"rr", "krr", "ldp", "local"},
	"ratio":               {"quotient", "ratio_of_sums", "sum_ratio"},
	"regression":          {"ols", "lm", "least_squares", "linear_regression"},
	"sd":                  {"stddev", "std", "stdev", "stddev_pop", "stddev_samp", "standard_deviation", "sigma"},
	"sgd":                 {"logistic", "logistic_regression", "gradient_descent", "dpsgd", "dp_sgd"},
	"sum":                 {"total", "totals", "sums", "add", "aggregate"},
	"variance":            {"var", "var_pop", "var_samp", "variances", "dispersion"},
}

// meantMechanism is the hint for a word that is no mechanism: the one that it is a synonym
// of, or the nearest name.
func meantMechanism(word string, known []string) string {
	plain := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
	for _, name := range known {
		if slices.Contains(synonyms[name], plain) {
			return "did you mean " + name + "?"
		}
	}
	return lang.DidYouMean(word, known)
}
