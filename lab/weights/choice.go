package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// trial is one estimate whose weights may be shrunk. Errors are in units of the noise of the weighted
// estimate, which has all of ε.
type trial struct {
	bias float64 // of the estimate with equal weights
	gain float64 // how many times less noise that has
	rng  *rand.Rand
}

// noise is the standard deviation where so much of the weights is kept: it grows with their range.
func (t trial) noise(keep float64) float64 { return 1/t.gain + keep*(1-1/t.gain) }

// laplace draws noise of a standard deviation.
func (t trial) laplace(sd float64) float64 {
	x := sd / math.Sqrt2 * t.rng.ExpFloat64()
	if t.rng.IntN(2) == 0 {
		return -x
	}
	return x
}

func (t trial) kept(keep float64) float64 { return math.Hypot((1-keep)*t.bias, t.noise(keep)) }

// hindsight is the least error that one keep can have.
func (t trial) hindsight() float64 {
	least := math.Inf(1)
	for k := range 101 {
		least = min(least, t.kept(float64(k)/100))
	}
	return least
}

// chosen measures the bias with a share of ε, as the difference of both estimates, and takes the keep of
// the least squared error by that (Seeman, Si and Reiter).
func (t trial) chosen(share float64) float64 {
	look := (1 - 1/t.gain) / share
	return t.mean(func() float64 {
		seen := t.bias + t.laplace(look)
		square := max(0, seen*seen-look*look)
		best, least := 0.0, math.Inf(1)
		for k := range 11 {
			keep := float64(k) / 10
			noise := t.noise(keep) / (1 - share)
			if e := square*(1-keep)*(1-keep) + noise*noise; e < least {
				best, least = keep, e
			}
		}
		return (1-best)*t.bias + t.laplace(t.noise(best)/(1-share))
	})
}

// looked has so many groups of equal size that are biased alike. A share of ε shows the difference of both
// estimates over all rows, and the weights are given up where it is below twice the noise of a group.
func (t trial) looked(share, groups float64) float64 {
	look := math.Hypot(1, 1/t.gain) / (share / 2) / groups // two releases, each with half
	return t.mean(func() float64 {
		if math.Abs(t.bias+t.laplace(look)) < 2 {
			return t.bias + t.laplace(t.noise(0)/(1-share))
		}
		return t.laplace(t.noise(1) / (1 - share))
	})
}

// averaged releases both estimates, and moves the one with equal weights towards the other by as much as
// they differ by more than noise (positive-part shrinkage). It throws no measurement away.
func (t trial) averaged(share float64) float64 {
	weighted, equal := 1/share, 1/t.gain/(1-share)
	square := weighted*weighted + equal*equal
	return t.mean(func() float64 {
		w, u := t.laplace(weighted), t.bias+t.laplace(equal)
		move := max(equal*equal/square, 1-2*square/((w-u)*(w-u)))
		return u + move*(w-u)
	})
}

// mean is the root mean square of many errors.
func (t trial) mean(once func() float64) float64 {
	const draws = 50_000
	total := 0.0
	for range draws {
		e := once()
		total += e * e
	}
	return math.Sqrt(total / draws)
}

// ways lists the choices that a job may make about shrinking.
var ways = []struct {
	name string
	err  func(trial) float64
}{
	{"`keep: 1`", func(t trial) float64 { return t.kept(1) }},
	{"`keep: 0`", func(t trial) float64 { return t.kept(0) }},
	{"the best in hindsight", trial.hindsight},
	{"chosen with 0.1 of ε", func(t trial) float64 { return t.chosen(0.1) }},
	{"chosen with 0.3 of ε", func(t trial) float64 { return t.chosen(0.3) }},
	{"both, averaged after the noise", func(t trial) float64 { return t.averaged(0.8) }},
	{"20 groups biased alike, after a look at all rows with 0.1 of ε", func(t trial) float64 { return t.looked(0.1, 20) }},
}

var biases = []float64{0, 0.5, 1, 2, 5, 10, 50}

// choices prints the errors of all ways for some biases, all in noises of `keep: 1`.
func choices(out io.Writer) {
	fmt.Fprint(out, "| bias of `keep: 0` |")
	for _, b := range biases {
		fmt.Fprintf(out, " %g |", b)
	}
	fmt.Fprint(out, "\n|---|---|---|---|---|---|---|---|\n")
	for _, w := range ways {
		fmt.Fprintf(out, "| %s |", w.name)
		for _, b := range biases {
			fmt.Fprintf(out, " %.1f |", w.err(trial{b, 5, rand.New(rand.NewPCG(29, 4))}))
		}
		fmt.Fprintln(out)
	}
}
