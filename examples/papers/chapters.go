package main

func gallery() []chapter {
	type list = []func(options) (exhibit, error)
	return []chapter{
		{"“Limits of Privacy Amplification by Subsampling”",
			"How much of what sampling costs in accuracy does amplification give back?",
			list{limitsByRate, limitsByEpsilon, limitsProportional, limitsAdditive}},
		{"“Accuracy Gains from Privacy Amplification Through Sampling”",
			"N = 10,001, δ = 1/(2N), simple random sampling without replacement, replace-one. Of the paper's Figures 1–13 and Table 1 the rules record the " +
				"setting, the numbers below, what Figure 5 draws, and the findings; the axes of the other figures and the entries of Table 1 are " +
				"not recorded, and a search found no more than the abstract. So F1–F13 and T1 are **our own reconstruction**: every recorded fact and finding " +
				"has its figure, F5 is the paper's Figure 5, and the other numbers are ours and need not be the paper's.",
			list{gainsTable, gainsBudget, gainsSaving, meanNever, gainsFigure5, medianRatio,
				medianGains("median-lognormal", "The median of a lognormal column", "Lognormal(5, 0.5), clipped to [0, 10,000].", lognormal, []float64{0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5}, lognormalClaim),
				medianGains("median-bimodal", "The median of a bimodal column",
					"Two scaled Beta(2, 10), on [0, 400] and on [600, 1000], with the median on the lower edge of the gap. The paper's scales are not recorded; these are ours.",
					bimodal, []float64{0.1, 0.3, 0.6, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5}, bimodalClaim),
				otherQuantiles, gaussianMean, exponentialMedian}},
		{"“Poisson Subsampled Rényi Differential Privacy”", "Poisson-sampled Gaussian noise in the paper's two regimes.", list{renyi(5), renyi(1)}},
		{"“Privacy Amplification for Episodic Training Methods”",
			"Theorem 3 of the paper against bounds that are proven here (privacy/amplify/multistage.proof.md), and an example where it fails.",
			list{episodicTake, episodicSize, episodicTruth}},
		{"The lecture “Privacy Amplification”", "Sampling, shuffling and iteration.", list{lectureResponse, lectureShuffle, lectureIteration}},
	}
}
