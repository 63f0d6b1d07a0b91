package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// interviews allots the households of EU-SILC to 36 months, as if each were asked once, and lists their persons by
// month. The allotment is invented.
func interviews(persons [][]string) ([]byte, error) {
	at := func(name string) int { return slices.Index(persons[0], name) }
	household, region, income := at("household"), at("region"), at("eq_income")
	months := make([][][]string, 36)
	for _, p := range persons[1:] {
		n, err := strconv.Atoi(p[household])
		if err != nil {
			return nil, err
		}
		x, err := strconv.ParseFloat(p[income], 64)
		if err != nil {
			return nil, err
		}
		m := n * 7919 % (36 * 101) / 101
		months[m] = append(months[m], []string{p[household], p[region], strconv.FormatFloat(x, 'f', 0, 64)})
	}
	var b bytes.Buffer
	b.WriteString("month,household,region,income\n")
	for m, rows := range months {
		for _, r := range rows {
			fmt.Fprintf(&b, "%d-%02d,%s,%s,%s\n", 2022+m/12, m%12+1, r[0], r[1], r[2])
		}
	}
	return b.Bytes(), nil
}
