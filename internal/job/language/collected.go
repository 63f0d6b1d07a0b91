package language

import (
	"encoding/json"
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// Said writes the draw down in one way: two jobs say the same of it exactly if the texts are equal. // P36
// Collected returns the facts of a collection.
func (spoken) Collected(c *job.Collected) string {
	text, err := json.Marshal(collected().fact(c))
	if err != nil {
		return "" // plain values always marshal
	}
	return string(text)
}

const bunEtAl = " (Bun, Drechsler, Gaboardi, McMillan and Sarathy 2022, arXiv 2007.12674)"

// refusedAllocations follow the data, with the reason (P3, P29).
var refusedAllocations = map[string]string{
	"neyman": "how many units a stratum gives follows the spread of a variable in it, so one unit can change the numbers, " +
		"and the numbers themselves reveal it" + bunEtAl,
	"optimal": "an optimum for the collected data follows them, so one unit can change the numbers; " +
		"if it was computed from earlier public figures, say fixed-before" + bunEtAl,
	"adaptive":  "what is drawn later follows what was seen before, so one unit can change who else is drawn" + bunEtAl,
	"quota":     "interviewers fill the quotas with whom they find: nobody was drawn by chance, so no chance hides anybody",
	"two-phase": "the second phase follows the data of the first, so one unit can change who else is drawn",
	"pps": "chances that follow the size of a unit are public only if the size is, and no sampler with " +
		"such chances is offered",
	"proportional-to-size": "chances that follow the size of a unit are public only if the size is, and no sampler with " +
		"such chances is offered",
	"systematic":   "it draws one cluster of units that the order of the list makes, so it buys no privacy",
	"convenience":  "nobody was drawn by chance, so no chance hides anybody",
	"random-route": "nobody knows the chance with which a unit was drawn",
}

// refusedCollections are methods by which a table may have been collected, and that buy no
// privacy that is proven.
var refusedCollections = func() map[string]string {
	out := map[string]string{"cluster": "say multistage, with take: all in the last stage"}
	for _, of := range []map[string]string{refusedMethods, refusedAllocations} {
		for name, why := range of {
			out[name] = why
		}
	}
	return out
}()

func collected() kind[job.Collected] {
	var drawnBy []field[job.Sample]
	for _, v := range drawn() {
		drawnBy = append(drawnBy, v.fields...)
	}
	within := func(name string) field[job.Collected] { // a key that means what it means for a sample
		return held(fieldOf(drawnBy, name), func(c *job.Collected) *job.Sample { return &c.Sample })
	}
	eachSlice := key("each_slice", flag(), func(c *job.Collected) *bool { return &c.EachSlice },
		"With dataset.slice: each slice was drawn by itself, independently of the others. One draw for several slices buys no privacy "+
			"slice by slice", otherwise("false"))
	allocation := key("allocation", words(refusedAllocations, job.Proportional, job.Equal, job.FixedBefore),
		func(c *job.Collected) *job.Allocation { return &c.Allocation },
		"How rates or numbers were chosen: proportional to the public sizes, equal, or fixed-before, from other public facts",
		required(), example("proportional"),
		out("it is asserted, and changes no release"))
	return oneOf("method", func(c *job.Collected) *job.Method { return &c.Method }, "How the table was drawn from its population",
		refusedCollections,
		variant[job.Collected]{string(job.SRSWOR), "A simple random sample without replacement", []field[job.Collected]{
			key("population", count(), func(c *job.Collected) *int64 { return &c.Population },
				"The public number of units in the population", required(), example("250000")),
			eachSlice}},
		variant[job.Collected]{string(job.Poisson),
			"Every unit was kept with the same probability, each on its own coin, and how many were kept is secret", []field[job.Collected]{
				within("rate"), eachSlice}},
		variant[job.Collected]{string(job.Stratified), "Every stratum was sampled on its own, at public rates or with public numbers",
			[]field[job.Collected]{
				within("strata"), within("rates"), within("take"),
				key("population", byName(count(), "STRATUM", checkText), func(c *job.Collected) *[]job.Named[int64] { return &c.Sizes },
					"With take: the public number of units of each stratum in the population", example("{E: 4421, H: 755, M: 1018}")),
				allocation, eachSlice}},
		variant[job.Collected]{string(job.Rotation), "A panel that rotates: each unit was allotted to some of the waves at random, by itself, " +
			"before the first, and nobody tells to which. The table is one wave. The first run pays for all waves", []field[job.Collected]{
			within("waves"), within("in"), within("patterns"), within("wave"),
			key("panel", panelName(), func(c *job.Collected) *string { return &c.Panel },
				"The name of the panel, where units were allotted anew for a second one", example("2027")),
		}},
		variant[job.Collected]{string(job.Multistage), "Units were drawn stage by stage without replacement; the last stage drew rows. " +
			"dataset.frame is the population's", []field[job.Collected]{
			within("stages"), allocation, eachSlice}},
	)
}

func panelName() kind[string] {
	return pattern("1 to 64 of the characters A-Z a-z 0-9 . _ -, the first a letter or digit", `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
}

// collected checks what the job says of the draw that made the table.
func (k *checker) collected(c *job.Collected) {
	d, path := &k.j.Dataset, "dataset.collected"
	if c.Method == job.Rotation {
		k.waves(path, &c.Sample)
		return
	}
	switch c.Method {
	case job.SRSWOR:
		if d.Size > 0 && c.Population > 0 && c.Population < d.Size {
			k.wrong(job.Key(path, "population"), "", "must be at least dataset.size (%d < %d)", c.Population, d.Size)
		}
	case job.Stratified:
		k.collectedStrata(path, c)
	case job.Multistage:
		k.stages(path, &c.Sample)
		if d.Frame != nil {
			c.FrameSHA256 = k.digestOfFile("dataset.frame.path", d.Frame.Path)
		}
	}
	k.folded(path, &c.Sample)
}

func (k *checker) collectedStrata(path string, c *job.Collected) {
	rates, takes, sizes := k.j.Has(job.Key(path, "rates")), k.j.Has(job.Key(path, "take")), k.j.Has(job.Key(path, "population"))
	col, declared := k.j.Dataset.Column(c.Strata)
	switch {
	case rates && takes:
		k.wrong(path, "say one of the two", "has both rates and take")
	case !rates && !takes:
		k.wrong(path, "say rates (Poisson) or take with population (without replacement)", "has neither rates nor take")
	case rates && sizes:
		k.wrong(job.Key(path, "population"), "leave it out", "belongs to take: with rates the numbers of units are secret")
	case takes && !sizes:
		k.wrong(job.Key(path, "population"), "say how many units each stratum of the population has",
			"is missing: the size of every stratum is public")
	case rates:
		k.rateStrata(path, &c.Sample)
	case takes:
		if names := namesIn(c.Takes); declared && col.Domain != nil {
			k.strata(path, "take", c.Strata, col.Domain, names)
		} else {
			k.strata(path, "take", "population", namesIn(c.Sizes), names)
		}
		k.collectedTakes(path, c)
	}
	if first := c.Rates; len(first) > 0 && first[0].Value != nil {
		for _, r := range c.Rates {
			if c.Allocation != job.FixedBefore && c.Allocation != "" && r.Value != nil && r.Value.Cmp(first[0].Value) != 0 {
				k.wrong(job.Key(path, "allocation"), "say fixed-before if the rates were chosen from facts that were public before",
					"must be fixed-before: the rates differ")
				return
			}
		}
	}
}

// collectedTakes compares the public numbers of units with each other.
func (k *checker) collectedTakes(path string, c *job.Collected) {
	sizes, taken, all, most := map[string]int64{}, new(big.Int), new(big.Int), int64(0)
	for _, s := range c.Sizes {
		sizes[s.Name] = s.Value
		all.Add(all, big.NewInt(s.Value))
	}
	for i := range c.Takes {
		t := &c.Takes[i]
		of, ok := sizes[t.Name]
		if !ok {
			k.wrong(job.Key(path, "population"), "", "does not name the stratum %s", problem.Shown(t.Name))
			return
		}
		if t.Value.All {
			t.Value = job.Take{Count: of}
		}
		if t.Value.Count > of {
			k.wrong(job.Key(job.Key(path, "take"), t.Name), "", "must be at most its population (%d > %d)", t.Value.Count, of)
			return
		}
		most = max(most, t.Value.Count)
		taken.Add(taken, big.NewInt(t.Value.Count))
	}
	switch {
	case len(c.Takes) < len(c.Sizes):
		k.wrong(job.Key(path, "population"), "leave out a stratum from which nothing was collected: it is not part of the population",
			"names a stratum that take does not name")
		return
	case k.j.Dataset.Size > 0 && taken.Cmp(big.NewInt(k.j.Dataset.Size)) != 0:
		k.wrong("dataset.size", "", "must be the number of units taken from all strata (%s)", taken)
	}
	for _, t := range c.Takes {
		of, wrong := sizes[t.Name], ""
		switch c.Allocation {
		case job.Equal:
			if t.Value.Count != min(most, of) {
				wrong = "the numbers to take differ"
			}
		case job.Proportional: // |n_h·N − n·N_h| < N
			off := new(big.Int).Mul(big.NewInt(t.Value.Count), all)
			if off.Sub(off, new(big.Int).Mul(taken, big.NewInt(of))).CmpAbs(all) >= 0 {
				wrong = "the numbers to take are not proportional to population"
			}
		}
		if wrong != "" {
			k.wrong(job.Key(path, "allocation"), "say fixed-before if the numbers were chosen from facts that were public before",
				"must not be %s: %s", c.Allocation, wrong)
			return
		}
	}
}
