package main

func gallery() []chapter {
	type list = []func(options) (exhibit, error)
	return []chapter{
		{"“Limits of Privacy Amplification by Subsampling”",
			"How much of what sampling costs in accuracy does amplification give back?",
			list{limitsByRate, limitsByEpsilon, limitsProportional}},
		{"“Accuracy Gains from Privacy Amplification Through Sampling”",
			"N = 10,001, δ = 1/(2N), simple random sampling without replacement, replace-one. Of the paper's Figures 1–13 and Table 1 the rules record the " +
				"setting, the numbers below, what Figure 5 draws, and the findings; the numbering and axes of the other figures, and the entries of Table 1, are " +
				"not recorded, so the exhibits carry names and not figure numbers.",
			list{gainsBudget, gainsSaving, gainsFigure5}},
	}
}
