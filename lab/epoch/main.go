package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/dprelease/dprelease/lab/measure"
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
	var memory, calls, epoch, bound []measure.Cost
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
		memory, calls, epoch, bound = append(memory, a), append(calls, b), append(epoch, c),
			append(bound, measure.Cost{Wall: a.Wall + b.Wall, Work: a.Work + b.Work})
	}
	fmt.Printf("%-40s %10s %22s\n", "median milliseconds", "wall", "processor time")
	show("memory: the records alone, all cores", memory, "%10.1f %22.1f\n")
	show("host: the same calls, nothing computed", calls, "%10.1f %22.1f\n")
	show("epoch: sgd", epoch, "%10.1f %22.1f\n")
	quotient := make([]measure.Cost, turns)
	for i := range quotient {
		quotient[i] = measure.Cost{Wall: epoch[i].Wall / bound[i].Wall, Work: epoch[i].Work / bound[i].Work}
	}
	q := show("epoch / (memory + host), of each turn", quotient, "%10.2f %22.2f (at most 1.5)\n")
	if most > 0 && q.Wall > most {
		return fmt.Errorf("%.2f is more than %.2f", q.Wall, most)
	}
	return nil
}

// show prints the medians, and returns them.
func show(name string, x []measure.Cost, format string) measure.Cost {
	var wall, work []float64
	for _, c := range x {
		wall, work = append(wall, c.Wall), append(work, c.Work)
	}
	m := measure.Cost{Wall: measure.Median(wall), Work: measure.Median(work)}
	fmt.Printf("%-40s "+format, name, m.Wall, m.Work)
	return m
}
