package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

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

// run draws all exhibits, as many at a time as there are processors, and tells of each.
func run(docs, images string, o options) error {
	chapters := gallery()
	shown := make([][]exhibit, len(chapters))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for c, ch := range chapters {
		shown[c] = make([]exhibit, len(ch.exhibits))
		for i, draw := range ch.exhibits {
			all.Go(func() error {
				began := time.Now()
				e, err := draw(o)
				shown[c][i] = e
				fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(began).Seconds(), e.id)
				if err != nil {
					return fmt.Errorf("%s: %w", e.id, err)
				}
				return nil
			})
		}
	}
	if err := all.Wait(); err != nil {
		return err
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

func gallery() []chapter {
	type list = []func(options) (exhibit, error)
	return []chapter{
		{"“Limits of Privacy Amplification by Subsampling”",
			"How much of what sampling costs in accuracy does amplification give back?",
			list{limitsByRate, limitsByEpsilon, limitsProportional, limitsAdditive}},
		{"“Accuracy Gains from Privacy Amplification Through Sampling”",
			"N = 10,001, δ = 1/(2N), simple random sampling without replacement, replace-one. Of the paper's Figures 1–13 and Table 1 the rules record the " +
				"setting, the numbers below, what Figure 5 draws, and the findings; the axes of the other figures and the entries of Table 1 are " +
				"not recorded, and a search found no more than the abstract. So F1–F13 and T1 are **our own reconstruction**: every recorded fact and finding " +
				"has its figure, F5 is the paper's Figure 5, and the other numbers are ours and need not be the paper's.",
			list{gainsTable, gainsBudget, gainsSaving, meanNever, gainsFigure5, medianRatio,
				medianGains("median-lognormal", "The median of a lognormal column", "Lognormal(5, 0.5), clipped to [0, 10,000].", lognormal, []float64{0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5}, lognormalClaim),
				medianGains("median-bimodal", "The median of a bimodal column",
					"Two scaled Beta(2, 10), on [0, 400] and on [600, 1000], with the median on the lower edge of the gap. The paper's scales are not recorded; these are ours.",
					bimodal, []float64{0.1, 0.3, 0.6, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5}, bimodalClaim),
				otherQuantiles, gaussianMean, exponentialMedian}},
		{"“Poisson Subsampled Rényi Differential Privacy”", "Poisson-sampled Gaussian noise in the paper's two regimes.", list{renyi(5), renyi(1)}},
		{"“Privacy Amplification for Episodic Training Methods”",
			"Theorem 3 of the paper against bounds that are proven here (privacy/amplify/multistage.proof.md), and an example where it fails.",
			list{episodicTake, episodicSize, episodicTruth}},
		{"The lecture “Privacy Amplification”", "Sampling, shuffling and iteration.", list{lectureResponse, lectureShuffle, lectureIteration}},
	}
}
