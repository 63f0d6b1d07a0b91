package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// wavesOfPanel is the number of waves that the households are allotted to.
const wavesOfPanel = 4

// waves are the households of the survey, one row each, allotted to a wave each by itself from
// a fixed seed.
func waves(rows [][]string) map[string][]byte {
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	rng := rand.New(rand.NewPCG(2034, 4))
	var out [wavesOfPanel]bytes.Buffer
	for i := range out {
		out[i].WriteString("household,region,size,income\n")
	}
	last := ""
	for _, r := range rows[1:] {
		if r[at["household"]] == last {
			continue
		}
		last = r[at["household"]]
		income, err := strconv.ParseFloat(r[at["eq_income"]], 64)
		if err != nil {
			income = 0
		}
		fmt.Fprintf(&out[rng.IntN(wavesOfPanel)], "%s,%s,%s,%.0f\n", last, r[at["region"]], r[at["household_size"]], income)
	}
	files := map[string][]byte{}
	for i := range out {
		files[fmt.Sprintf("wave-%d.csv", i+1)] = out[i].Bytes()
	}
	return files
}
