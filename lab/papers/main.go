package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// exhibit is one figure of the gallery with what is said about it.
type exhibit struct {
	id, title string
	text      string // what is drawn, and how
	alt       string
	figures   []panel
	table     string // in Markdown, after the figures
	facts     []fact
	agreement string     // a sentence about the facts
	questions []question // of the accountant and its rivals
}

type panel struct {
	name string
	fig  interface{ SVG() []byte }
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
	exhibits     []func() (exhibit, error)
}

// Simulated figures have this many repetitions. If the luck of one population could decide, they use several.
const (
	repetitions   = 1000
	populations   = 25
	perPopulation = repetitions / populations
)

// page is one file of the folder lab/studies.
type page struct {
	file, opening string // the opening has room for the runs and the populations
	chapters      []chapter
}

func main() {
	only := flag.String("only", "", "make this page alone, by the name of its file")
	flag.Parse()
	for _, p := range pages() {
		if *only != "" && *only != p.file {
			continue
		}
		if err := p.make(); err != nil {
			fmt.Fprintln(os.Stderr, "papers:", err)
			os.Exit(1)
		}
	}
}

// make draws all exhibits of a page, as many at a time as there are processors, and writes it.
func (p page) make() error {
	shown := make([][]exhibit, len(p.chapters))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for c, ch := range p.chapters {
		shown[c] = make([]exhibit, len(ch.exhibits))
		for i, draw := range ch.exhibits {
			all.Go(func() error {
				began := time.Now()
				e, err := draw()
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
	const studies = "lab/studies"
	dir := filepath.Join(studies, "papers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, e := range slices.Concat(shown...) {
		for _, f := range e.figures {
			if err := os.WriteFile(filepath.Join(dir, f.name+".svg"), f.fig.SVG(), 0o644); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(studies, p.file), []byte(p.text(shown)), 0o644)
}

func pages() []page {
	var rivals []func() (exhibit, error)
	for _, g := range grids {
		rivals = append(rivals, g.exhibit)
	}
	return []page{
		{"accountant.md", accountantOpening, []chapter{
			{"Sampling, shuffling and composition", "", rivals},
			{"Multistage and iteration", "", []func() (exhibit, error){rivalsMultistage, rivalsIteration}},
		}},
		{"papers.md", opening, gallery()},
		{"open-questions.md", openOpening, []chapter{
			{"Accuracy gains", "", []func() (exhibit, error){gaussianMean, manyMeans, exponentialMedian, otherQuantiles}},
			{"Finding out", "", []func() (exhibit, error){verdicts}},
			{"Other designs", "", []func() (exhibit, error){multistageCost, additiveGain, randomAllocation}},
		}},
	}
}

func gallery() []chapter {
	type list = []func() (exhibit, error)
	return []chapter{
		{"“Limits of Privacy Amplification by Subsampling”",
			"How much of what sampling costs in accuracy does amplification give back?",
			list{limitsByRate, limitsByEpsilon, limitsProportional, limitsConstant, limitsError, limitsEpochs}},
		{"“Accuracy Gains from Privacy Amplification Through Sampling for Differential Privacy”",
			"N = 10,001, δ = 1/(2N) = 4.9995e-5, simple random sampling without replacement, replace-one, Laplace noise, " +
				"ε_n = log(1 + (N/n)(e^ε − 1)), δ_n = (N/n)·δ. " +
				"The paper smooths with β = ε/(2 log(2/δ)), which is too large for large ε (P13). Figures of smooth sensitivity are drawn with " +
				"this β and with the exact one.",
			list{gainsMean, gainsMedian, gainsBudget, gainsSaving, gainsFigure5,
				sensitivity(6, lognormal, lognormalSensitivity), added(7, lognormal, lognormalNoise), errorsAlong(8, lognormal, lognormalErrors),
				bimodalDensity, sensitivity(10, bimodal, bimodalSensitivity), bimodalMedians, added(12, bimodal, bimodalNoise),
				errorsAlong(13, bimodal, bimodalErrors), gainsTable}},
		{"“Poisson Subsampled Rényi Differential Privacy”", "Poisson-sampled Gaussian noise in the paper's two regimes.",
			list{renyi(5), renyi(1)}},
		{"“Privacy Amplification for Episodic Training Methods”",
			"Theorem 3 of the paper compared with bounds that are proved here (privacy/amplify/multistage.proof.md), " +
				"and an example in which it fails.",
			list{episodicTake, episodicSize, episodicTruth}},
		{"The lecture “Privacy Amplification”", "Sampling, shuffling and iteration.", list{lectureResponse, lectureShuffle, lectureIteration}},
	}
}
