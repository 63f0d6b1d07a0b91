package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/figure"
)

// exhibit is one figure of the gallery with what is said about it.
type exhibit struct {
	id, title string
	text      string // what is drawn, and how
	alt       string
	figures   []panel
	table     string // in Markdown, after the figures
	facts     []fact
	agreement string
}

type panel struct {
	name string
	fig  *figure.Figure
}

// fact is one number: what the paper states, if that is known here, and ours.
type fact struct {
	what, stated, ours string
	// holds says whether ours agrees with what is stated; it is not set where nothing
	// is stated.
	holds, known bool
}

// chapter is one paper.
type chapter struct {
	title, about string
	exhibits     []func(options) (exhibit, error)
}

// options of a run.
type options struct {
	populations, repetitions int
}

func main() {
	docs := flag.String("docs", "docs", "folder of papers.md and papers/")
	images := flag.String("png", "", "also write the figures as PNG into this folder")
	quick := flag.Bool("quick", false, "a twentieth of the repetitions, for a look")
	flag.Parse()
	o := options{populations: 25, repetitions: 1000}
	if *quick {
		o = options{populations: 5, repetitions: 50}
	}
	if err := run(*docs, *images, o); err != nil {
		fmt.Fprintln(os.Stderr, "papers:", err)
		os.Exit(1)
	}
}

// workers are for two cores.
const workers = 2

func run(docs, images string, o options) error {
	chapters := gallery()
	type task struct{ chapter, at int }
	var tasks []task
	shown := make([][]exhibit, len(chapters))
	for c := range chapters {
		shown[c] = make([]exhibit, len(chapters[c].exhibits))
		for i := range chapters[c].exhibits {
			tasks = append(tasks, task{c, i})
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	queue, done, start := make(chan task), 0, time.Now()
	for range workers {
		wg.Go(func() {
			for t := range queue {
				began := time.Now()
				e, err := chapters[t.chapter].exhibits[t.at](o)
				mu.Lock()
				done++
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s: %w", e.id, err))
				}
				shown[t.chapter][t.at] = e
				fmt.Fprintf(os.Stderr, "%2d of %d  %6.1f s  %s\n", done, len(tasks), time.Since(began).Seconds(), e.id)
				mu.Unlock()
			}
		})
	}
	for _, t := range tasks {
		queue <- t
	}
	close(queue)
	wg.Wait()
	fmt.Fprintf(os.Stderr, "%.0f s in all\n", time.Since(start).Seconds())
	if failed != nil {
		return failed
	}
	return write(docs, images, chapters, shown, o)
}

// write puts the figures and the page in place.
func write(docs, images string, chapters []chapter, shown [][]exhibit, o options) error {
	dir := filepath.Join(docs, "papers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, exhibits := range shown {
		for _, e := range exhibits {
			for _, p := range e.figures {
				svg, err := p.fig.SVG()
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				if err := os.WriteFile(filepath.Join(dir, p.name+".svg"), svg, 0o644); err != nil {
					return err
				}
				if images == "" {
					continue
				}
				png, err := p.fig.PNG()
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				if err := os.WriteFile(filepath.Join(images, p.name+".png"), png, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return os.WriteFile(filepath.Join(docs, "papers.md"), []byte(page(chapters, shown, o)), 0o644)
}
