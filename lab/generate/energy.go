package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
)

// dwellings are the strata of the households of a made-up utility: how many there are, in
// units of 250, and about how much energy one uses between 6 and 9 in the evening.
var dwellings = []struct {
	stratum string
	of250   int
	kwh     float64
}{
	{"coast-flat", 44, 1.4}, {"coast-row", 16, 2.0}, {"coast-house", 12, 3.1},
	{"valley-flat", 20, 2.2}, {"valley-row", 18, 3.4}, {"valley-house", 26, 5.2},
	{"hills-flat", 4, 1.8}, {"hills-row", 6, 2.6}, {"hills-house", 14, 4.0},
}

// energy is a survey of 40,000 households that are invented from a fixed seed: 31 of every
// 250 in each stratum, drawn without replacement. The totals are those of all households.
func energy() (table []byte, observed, predicted float64) {
	rng := rand.New(rand.NewPCG(2020, 8))
	type household struct {
		stratum             string
		observed, predicted float64
	}
	var drawn []household
	for _, d := range dwellings {
		all := make([]household, 250*d.of250)
		for i := range all {
			use := d.kwh * math.Exp(0.45*rng.NormFloat64())
			all[i] = household{d.stratum, math.Round(100*use) / 100, math.Round(100*use*(1.04+0.12*rng.NormFloat64())) / 100}
			observed += min(all[i].observed, 10)
			predicted += min(max(all[i].predicted, 0), 10)
		}
		rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		drawn = append(drawn, all[:31*d.of250]...)
	}
	rng.Shuffle(len(drawn), func(i, k int) { drawn[i], drawn[k] = drawn[k], drawn[i] })
	var out bytes.Buffer
	out.WriteString("stratum,observed,predicted\n")
	for _, h := range drawn {
		fmt.Fprintf(&out, "%s,%g,%g\n", h.stratum, h.observed, h.predicted)
	}
	return out.Bytes(), observed, predicted
}
