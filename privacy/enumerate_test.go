package privacy

import (
	"math"
)

// This file enumerates tiny populations exactly: every sample of a design, with its probability, and every output of a discrete
// mechanism on it. Nothing in it uses the code under test.

// outcome is one possible sample and its probability; members may repeat (with replacement).
type outcome struct {
	p       float64
	members []int
}

// poissonDesign keeps record i with rates[i].
func poissonDesign(rates ...float64) []outcome {
	var out []outcome
	for mask := 0; mask < 1<<len(rates); mask++ {
		o := outcome{p: 1}
		for i, r := range rates {
			if mask>>i&1 == 1 {
				o.p *= r
				o.members = append(o.members, i)
			} else {
				o.p *= 1 - r
			}
		}
		out = append(out, o)
	}
	return out
}

func equalRates(n int, q float64) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = q
	}
	return r
}

// subsets lists the k-subsets of items.
func subsets(items []int, k int) [][]int {
	if k == 0 {
		return [][]int{nil}
	}
	if len(items) < k {
		return nil
	}
	var out [][]int
	for _, s := range subsets(items[1:], k-1) {
		out = append(out, append([]int{items[0]}, s...))
	}
	return append(out, subsets(items[1:], k)...)
}

func upTo(n int) []int {
	r := make([]int, n)
	for i := range r {
		r[i] = i
	}
	return r
}

// fixedDesign draws n of N without replacement.
func fixedDesign(n, of int) []outcome {
	var out []outcome
	all := subsets(upTo(of), n)
	for _, s := range all {
		out = append(out, outcome{1 / float64(len(all)), s})
	}
	return out
}

// multisetDesign draws n times one of N.
func multisetDesign(n, of int) []outcome {
	out := []outcome{{p: 1}}
	for range n {
		var next []outcome
		for _, o := range out {
			for i := range of {
				next = append(next, outcome{o.p / float64(of), append(append([]int{}, o.members...), i)})
			}
		}
		out = next
	}
	return out
}

// unit is a node of a multistage frame: its draw takes `take` of its children; a leaf is one record.
type unit struct {
	record   int
	take     int
	children []*unit
}

func record(i int) *unit { return &unit{record: i} }

func cluster(take int, children ...*unit) *unit { return &unit{take: take, children: children} }

// frame builds clusters of consecutive records with the given sizes and takes.
func frame(first *int, take int, sizes, takes []int) *unit {
	top := &unit{take: take}
	for i, n := range sizes {
		c := &unit{take: takes[i]}
		for range n {
			c.children = append(c.children, record(*first))
			*first++
		}
		top.children = append(top.children, c)
	}
	return top
}

// draws enumerates the samples below a unit.
func (u *unit) draws() []outcome {
	if len(u.children) == 0 {
		return []outcome{{1, []int{u.record}}}
	}
	all := subsets(upTo(len(u.children)), u.take)
	var out []outcome
	for _, s := range all {
		part := []outcome{{p: 1 / float64(len(all))}}
		for _, c := range s {
			part = cross(part, u.children[c].draws())
		}
		out = append(out, part...)
	}
	return out
}

// cross is the product of two independent draws.
func cross(a, b []outcome) []outcome {
	var out []outcome
	for _, x := range a {
		for _, y := range b {
			out = append(out, outcome{x.p * y.p, append(append([]int{}, x.members...), y.members...)})
		}
	}
	return out
}

// enumerated is a discrete mechanism: the distribution of its output on the values of a sample, and the event that describes it.
type enumerated struct {
	name  string
	event Event
	run   func(values []int) []float64
}

// discreteLaplaceSum adds P(x) ∝ exp(−|x|/scale) to the sum of the values and clamps to ±reach (post-processing).
func discreteLaplaceSum(scale float64, s Sensitivity) enumerated {
	const reach = 14
	return enumerated{"discrete Laplace sum", DiscreteLaplace{Scale: scale, Sensitivity: s}, func(values []int) []float64 {
		return noisySum(values, scale, reach)
	}}
}

func noisySum(values []int, scale float64, reach int) []float64 {
	a := math.Exp(-1 / scale)
	sum := 0
	for _, v := range values {
		sum += v
	}
	out := make([]float64, 2*reach+1)
	norm := (1 - a) / (1 + a)
	for i := range out {
		x := i - reach
		switch {
		case i == 0: // everything at or below −reach
			out[i] = below0(x-sum, a)
		case i == 2*reach:
			out[i] = 1 - below0(x-1-sum, a)
		default:
			out[i] = norm * math.Pow(a, math.Abs(float64(x-sum)))
		}
	}
	return out
}

// below0 is P[X <= x] of discrete Laplace noise.
func below0(x int, a float64) float64 {
	if x < 0 {
		return math.Pow(a, float64(-x)) / (1 + a)
	}
	return 1 - math.Pow(a, float64(x+1))/(1+a)
}

// twoSums releases two independent noisy sums of one sample.
func twoSums(scale float64, s Sensitivity) enumerated {
	e := DiscreteLaplace{Scale: scale, Sensitivity: s}
	return enumerated{"two sums of one draw", Compose{[]Event{e, e}}, func(values []int) []float64 {
		one := noisySum(values, scale, 6)
		var out []float64
		for _, x := range one {
			for _, y := range one {
				out = append(out, x*y)
			}
		}
		return out
	}}
}

// countingBit is randomized response on whether the values add up to at least one.
func countingBit(eps float64) enumerated {
	return enumerated{"randomized counting bit", Pure{eps}, func(values []int) []float64 {
		sum := 0
		for _, v := range values {
			sum += v
		}
		p := 1 / (1 + math.Exp(-eps))
		if sum >= 1 {
			return []float64{1 - p, p}
		}
		return []float64{p, 1 - p}
	}}
}

// leakyBit reveals the sum with probability delta and is a counting bit otherwise.
func leakyBit(eps, delta float64) enumerated {
	bit := countingBit(eps)
	return enumerated{"leaky counting bit", Approx{eps, delta}, func(values []int) []float64 {
		out := make([]float64, 2+41)
		for i, p := range bit.run(values) {
			out[i] = (1 - delta) * p
		}
		sum := 20
		for _, v := range values {
			sum += v
		}
		out[2+sum] = delta
		return out
	}}
}

// sizedSum publishes the size of the sample beside the noisy sum: private under replace-one only.
func sizedSum(scale, replaceOne float64) enumerated {
	const reach = 8
	return enumerated{"sum and size", DiscreteLaplace{Scale: scale, Sensitivity: Sensitivity{ReplaceOne: replaceOne}}, func(values []int) []float64 {
		out := make([]float64, 9*(2*reach+1))
		copy(out[len(values)*(2*reach+1):], noisySum(values, scale, reach))
		return out
	}}
}

// run mixes the mechanism over the samples of a design on one data set.
func (m enumerated) on(design []outcome, data []int) []float64 {
	var out []float64
	values := make([]int, 0, 16)
	cache := map[int][]float64{}
	for _, o := range design {
		values = values[:0]
		key := 0
		for _, i := range o.members {
			values = append(values, data[i])
			key += data[i]
		}
		key = key*64 + len(values) // every mechanism here depends on sum and size only
		p, ok := cache[key]
		if !ok {
			p = m.run(values)
			cache[key] = p
		}
		if out == nil {
			out = make([]float64, len(p))
		}
		for i := range p {
			out[i] += o.p * p[i]
		}
	}
	return out
}

// hockeyStick is Σ max(0, P − e^ε Q), the larger of the two directions.
func hockeyStick(p, q []float64, eps float64) float64 {
	var a, b float64
	e := math.Exp(eps)
	for i := range p {
		a += math.Max(0, p[i]-e*q[i])
		b += math.Max(0, q[i]-e*p[i])
	}
	return math.Max(a, b)
}

// tables lists all data sets of n values.
func tables(n int, domain []int) [][]int {
	out := [][]int{nil}
	for range n {
		var next [][]int
		for _, t := range out {
			for _, v := range domain {
				next = append(next, append(append([]int{}, t...), v))
			}
		}
		out = next
	}
	return out
}
