package expr

import "strings"

// otherNames are what other libraries and papers call our events and fields.
var otherNames = map[string][]string{
	"noise_multiplier": {"sigma"}, "noise": {"sigma", "scale"}, "std": {"sigma"}, "stddev": {"sigma"}, "σ": {"sigma"}, "s": {"sigma"},
	"b": {"scale"}, "lambda": {"scale"},
	"q": {"rate"}, "p": {"rate"}, "sampling_rate": {"rate"}, "sampling_probability": {"rate"}, "gamma": {"rate"}, "sample_rate": {"rate"},
	"steps": {"n"}, "count": {"n"}, "times": {"n"}, "T": {"n"}, "num": {"n"}, "iterations": {"n", "steps"}, "users": {"n"},
	"size": {"n", "take"}, "sample_size": {"n", "take"}, "population": {"N", "of"}, "source_dataset_size": {"N"},
	"epsilon": {"eps"}, "ε": {"eps"}, "eps": {"epsilon"}, "epsilon0": {"eps0"}, "δ": {"delta"}, "ρ": {"rho"},
	"categories": {"k"}, "num_buckets": {"k"}, "dimension": {"coordinates"},
	"add_remove": {"add-remove"}, "add": {"add-remove"}, "remove": {"add-remove"}, "unbounded": {"add-remove"}, "zero-out": {"add-remove"},
	"replace_one": {"replace-one"}, "replace": {"replace-one"}, "substitute": {"replace-one"}, "bounded": {"replace-one"}, "change-one": {"replace-one"},
	"variant": {"kind"}, "epoch": {"epochs"}, "passes": {"epochs"}, "eta": {"step_size"}, "learning_rate": {"step_size"}, "lr": {"step_size"},
	"L": {"sensitivity"}, "M": {"smooth"}, "m": {"strong_convexity"}, "D": {"diameter"}, "smoothness": {"smooth"}, "batch_size": {"batch"},
	"expression": {"event"}, "mechanism": {"event"}, "neighbouring": {"relation"}, "neighboring_relation": {"relation"}, "adjacency": {"relation"},
	"target": {"query"}, "ask": {"query"}, "events": {"compose"},
	"self_compose": {"repeat"}, "self_composed": {"repeat"}, "composed": {"compose"}, "sum": {"compose"},
	"poisson_sampled": {"poisson"}, "subsampled": {"poisson"}, "srswor": {"without_replacement"}, "wor": {"without_replacement"},
	"sampled_without_replacement": {"without_replacement"}, "wr": {"with_replacement"}, "sampled_with_replacement": {"with_replacement"},
	"exponential": {"pure"}, "exponential_mechanism": {"pure"}, "epsilon_delta": {"approx"}, "epsilon_delta_dp": {"approx"},
	"rr": {"randomized_response"}, "krr": {"randomized_response"}, "grr": {"randomized_response"}, "shuffle": {"shuffled"},
	"sgd": {"last_iterate"}, "iterate": {"last_iterate"}, "normal": {"gaussian"}, "cdp": {"zcdp"}, "concentrated": {"zcdp"},
	"geometric": {"discrete_laplace"}, "renyi": {"rdp"}, "prv": {"pld"}, "method": {"methods"},
}

// hintFor proposes the known name that was most likely meant.
func hintFor(key string, known []string) string {
	if name := nearest(key, known); name != "" {
		return "did you mean " + name + "?"
	}
	if name, value, ok := strings.Cut(key, ":"); ok && contains(known, name) && value != "" {
		return "YAML needs a space after the colon: " + name + ": " + shorten(value, 40)
	}
	return ""
}

func nearest(key string, known []string) string {
	plain := normal(key)
	for _, k := range known {
		if normal(k) == plain {
			return k
		}
	}
	for _, other := range append(otherNames[key], otherNames[strings.ToLower(key)]...) {
		if contains(known, other) {
			return other
		}
	}
	best, at := "", 1+len(key)/3
	for _, k := range known {
		if len(k) < 3 || len(key) > 40 {
			continue
		}
		if d := distance(plain, normal(k)); d < at || d == at && best == "" && d <= len(k)/3 {
			best, at = k, d
		}
	}
	return best
}

// normal ignores case and the difference between "_", "-" and nothing.
func normal(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours between two short names.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
