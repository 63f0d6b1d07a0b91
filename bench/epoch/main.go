package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk/serve"
	"github.com/dprelease/dprelease/plugins/sgd"
)

// The epoch that is measured.
const (
	records  = 1_000_000
	features = 32
	rate     = 0.01
	steps    = 100
)

func main() {
	// The program is its own plugins, so that both are the same code on the same wire.
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		if os.Args[2] == "calls" {
			serve.Mechanisms(metered{calls{}})
		} else {
			serve.Mechanisms(metered{sgd.Mechanism{}})
		}
		return
	}
	turns := flag.Int("turns", 15, "turns of each")
	most := flag.Float64("most", 0, "fail where the median quotient is larger; 0 for never")
	flag.Parse()
	if err := run(context.Background(), *turns, *most); err != nil {
		fmt.Fprintln(os.Stderr, "epoch:", err)
		os.Exit(1)
	}
}

// run takes turns, so that a change of the machine's speed hits all alike.
func run(ctx context.Context, turns int, most float64) error {
	t, err := newTable()
	if err != nil {
		return err
	}
	empty, err := start(ctx, "calls")
	if err != nil {
		return err
	}
	defer empty.close()
	full, err := start(ctx, "sgd")
	if err != nil {
		return err
	}
	defer full.close()
	var memory, calls, epoch, bound []cost
	for i := range turns + 1 {
		a, err := t.read()
		if err != nil {
			return err
		}
		b, err := empty.epoch(ctx, t)
		if err != nil {
			return err
		}
		c, err := full.epoch(ctx, t)
		if err != nil {
			return err
		}
		if i == 0 { // the first turn finds cold memory
			continue
		}
		memory, calls, epoch, bound = append(memory, a), append(calls, b), append(epoch, c), append(bound, a.plus(b))
	}
	fmt.Printf("%-40s %10s %22s\n", "median milliseconds", "wall", "processor time")
	show("memory: the records alone, all cores", memory, "%10.1f %22.1f\n")
	show("host: the same calls, nothing computed", calls, "%10.1f %22.1f\n")
	show("epoch: sgd", epoch, "%10.1f %22.1f\n")
	quotient := make([]cost, turns)
	for i := range quotient {
		quotient[i] = cost{epoch[i].wall / bound[i].wall, epoch[i].work / bound[i].work}
	}
	q := show("epoch / (memory + host), of each turn", quotient, "%10.2f %22.2f (at most 1.5)\n")
	if most > 0 && q.wall > most {
		return fmt.Errorf("%.2f is more than %.2f", q.wall, most)
	}
	return nil
}

// show prints the medians, and returns them.
func show(name string, x []cost, format string) cost {
	var wall, work []float64
	for _, c := range x {
		wall, work = append(wall, c.wall), append(work, c.work)
	}
	m := cost{median(wall), median(work)}
	fmt.Printf("%-40s "+format, name, m.wall, m.work)
	return m
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
