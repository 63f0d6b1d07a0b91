package pld

import (
	"math"
	"testing"
)

// threeCells is the delta of T draws of one of ten people without replacement, each followed by randomized
// response over three cells: nine people are in the first cell, the tenth in cell with, or in cell without.
func threeCells(eps float64, draws, with, without int) (delta float64) {
	const rate, own, other = 0.1, 0.6, 0.2
	law := func(cell int) (p [3]float64) {
		for i := range p {
			p[i] = other
			if i == 0 {
				p[i] += (1 - rate) * (own - other)
			}
			if i == cell {
				p[i] += rate * (own - other)
			}
		}
		return p
	}
	logs := func(p [3]float64, n [3]int) (sum float64) {
		sum, _ = math.Lgamma(float64(draws + 1))
		for i := range n {
			g, _ := math.Lgamma(float64(n[i] + 1))
			sum += float64(n[i])*math.Log(p[i]) - g
		}
		return sum
	}
	p, q := law(with), law(without)
	for i := range draws + 1 {
		for j := range draws - i + 1 {
			n := [3]int{i, j, draws - i - j}
			delta += max(0, math.Exp(logs(p, n))-math.Exp(eps+logs(q, n)))
		}
	}
	return delta
}

// P7: a person who moves from the second cell to the third leans one way with some draws and the other way with
// others. Composing the directions of one draw each by itself, and taking the larger, charges less than that costs.
func TestOneDirectionIsTooLittle(t *testing.T) {
	const draws, eps = 400, 2.0
	truth := threeCells(eps, draws, 1, 2)
	apart := max(threeCells(eps, draws, 1, 0), threeCells(eps, draws, 0, 1))
	charged, err := Delta(Repeat(draws, WithoutReplacement(0.1, RandomizedResponse(3, math.Log(3)))), eps, Options{})
	if err != nil || apart > 0.8*truth || charged.Upper < truth || charged.Lower > truth {
		t.Errorf("each direction by itself %v, the truth %v, charged %v %v", apart, truth, charged, err)
	}
}
