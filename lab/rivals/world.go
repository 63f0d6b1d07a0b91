package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// sizes are the numbers of categories of the columns c0 to c9.
var sizes = []int{2, 2, 3, 3, 4, 4, 5, 5, 6, 6}

// ranks are those of five quantiles.
var ranks = []float64{0.1, 0.25, 0.5, 0.75, 0.9}

// world is the truth about the two tables of a folder, by task and cell.
type world struct {
	folder string
	rows   int
	truth  map[string]map[string]float64
}

// newWorld writes persons.csv, so many rows, and visits.csv, about three rows for each of a third as many persons. Both are the same
// each time for a seed.
func newWorld(folder string, rows int, seed uint64) (*world, error) {
	w := &world{folder: folder, rows: rows, truth: map[string]map[string]float64{}}
	for _, task := range tasks {
		w.truth[task.name] = map[string]float64{}
	}
	for i := range 50 { // groups that nobody is in have a count, and no mean
		w.truth["counts"][fmt.Sprintf("g%02d", i)] = 0
		w.truth["visits"][fmt.Sprintf("w%02d", i)] = 0
	}
	r := rand.New(rand.NewPCG(20261127, seed))
	if err := w.persons(r); err != nil {
		return nil, err
	}
	return w, w.visits(r)
}

// moved gives runs on another world the errors that they have there: each value moves as far as the truth does.
func (w *world) moved(t task, runs []map[string]float64, from *world) []map[string]float64 {
	for _, run := range runs {
		for cell := range run {
			run[cell] += w.truth[t.name][cell] - from.truth[t.name][cell]
		}
	}
	return runs
}

func (w *world) persons(r *rand.Rand) error {
	var xs []float64
	sum, byGroup := 0.0, map[string][]float64{}
	err := write(filepath.Join(w.folder, "persons.csv"), func(out *bufio.Writer) {
		out.WriteString("person,region,x")
		for k := range sizes {
			fmt.Fprintf(out, ",c%d", k)
		}
		out.WriteString(",town\n")
		for i := range w.rows {
			region := fmt.Sprintf("g%02d", int(50*math.Pow(r.Float64(), 2)))
			x := math.Round(100*math.Min(100, math.Exp(3+0.6*r.NormFloat64()))) / 100
			town := fmt.Sprintf("t%d", int(1000*math.Pow(r.Float64(), 3)))
			xs, sum = append(xs, x), sum+x
			byGroup[region] = append(byGroup[region], x)
			w.truth["counts"][region]++
			w.truth["keys"][town]++
			fmt.Fprintf(out, "%d,%s,%s", i, region, strconv.FormatFloat(x, 'f', 2, 64))
			codes, lean := make([]int, len(sizes)), r.Float64() // columns that go together
			for k, n := range sizes {
				codes[k] = min(n-1, int(float64(n)*math.Abs(0.7*lean+0.3*r.Float64())))
				fmt.Fprintf(out, ",%d", codes[k])
			}
			fmt.Fprintf(out, ",%s\n", town)
			for a := range sizes {
				for b := a + 1; b < len(sizes); b++ {
					w.truth["pairs"][fmt.Sprintf("c%d,c%d,%d,%d", a, b, codes[a], codes[b])]++
				}
			}
		}
	})
	n := float64(len(xs))
	mean, squares := sum/n, 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	w.truth["count"]["all"], w.truth["sampled"]["all"], w.truth["variance"]["all"] = n, mean, squares/n
	for region, of := range byGroup {
		s := 0.0
		for _, x := range of {
			s += x
		}
		w.truth["means"][region] = s / float64(len(of))
	}
	slices.Sort(xs)
	for _, q := range ranks {
		w.truth["quantiles"][fmt.Sprint(q)] = xs[int(q*n)]
	}
	w.truth["median"]["0.5"] = w.truth["quantiles"]["0.5"]
	for a, na := range sizes {
		for b := a + 1; b < len(sizes); b++ {
			for cell := range na * sizes[b] {
				w.truth["pairs"][fmt.Sprintf("c%d,c%d,%d,%d", a, b, cell/sizes[b], cell%sizes[b])] += 0
			}
		}
	}
	return err
}

func (w *world) visits(r *rand.Rand) error {
	return write(filepath.Join(w.folder, "visits.csv"), func(out *bufio.Writer) {
		out.WriteString("person,ward\n")
		for person := range w.rows / 3 {
			for range min(47, int(math.Pow(1-r.Float64(), -1/1.5))) {
				ward := fmt.Sprintf("w%02d", r.IntN(50))
				w.truth["visits"][ward]++
				fmt.Fprintf(out, "%d,%s\n", person, ward)
			}
		}
	})
}

func write(path string, fill func(*bufio.Writer)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	fill(out)
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}
