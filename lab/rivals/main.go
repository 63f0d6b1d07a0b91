package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
)

func main() {
	var s study
	out := flag.String("out", "lab/studies", "the folder of the page")
	flag.StringVar(&s.environments, "environments", "", "where the rivals are installed; a folder of the user's cache by default")
	flag.StringVar(&s.program, "program", "bin/dprelease", "the program")
	flag.IntVar(&s.runs, "runs", 200, "the runs of each task")
	rows := flag.Int("rows", 10_000, "the rows of the table of errors")
	large := flag.Int("large", 200_000, "the rows of the table of times")
	only := flag.String("only", "", "one task, or accounting; to the terminal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, *out, *only, *rows, *large); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// study is one run of everything.
type study struct {
	environments, program string
	runs                  int
	lines                 []line
	costs                 []cost
	charged               []charged
	truth                 map[string]map[string]float64
}

// line holds the values of a task by a tool at a guarantee.
type line struct {
	task  task
	given guarantee
	tool  string
	answer
	score
}

// cost holds the time and memory of a task, for a start and for a row.
type cost struct {
	task         task
	tool         string
	start, large use
	rows         int
	cannot       string
}

// charged is one question and all its answers.
type charged struct {
	question
	by    map[string]charge
	lower float64
}

func (s *study) run(ctx context.Context, out, only string, rows, large int) error {
	if s.environments == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		s.environments = filepath.Join(cache, "dprelease-rivals")
	}
	if err := unpack(s.environments); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "rivals-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := s.errors(ctx, folder, only, rows); err != nil {
		return err
	}
	if only == "" {
		if err := s.times(ctx, folder, large); err != nil {
			return err
		}
	}
	for _, q := range questions {
		if only != "" && only != "accounting" {
			break
		}
		by, lower, err := q.charges(ctx, s.environments)
		if err != nil {
			return err
		}
		s.charged = append(s.charged, charged{q, by, lower})
		fmt.Println(q.title, by, lower)
	}
	if only != "" {
		return nil
	}
	return os.WriteFile(filepath.Join(out, "rivals.md"), s.page(rows, large), 0o644)
}

// rival does a task with a tool, dprelease among them.
func (s *study) rival(ctx context.Context, t task, name string, w *world, g guarantee, runs int) (answer, error) {
	if name == "dprelease" && t.name == "keys" { // a job selects the same keys once
		all := answer{}
		for range runs {
			a, err := t.ours(ctx, s.program, w, g, 1)
			if err != nil || a.Cannot != "" {
				return a, err
			}
			all = answer{How: a.How, Runs: append(all.Runs, a.Runs...), use: a.use}
		}
		return all, nil
	}
	if name == "dprelease" {
		return t.ours(ctx, s.program, w, g, runs)
	}
	return toolNamed(name).do(ctx, s.environments, cmp.Or(t.way.name, t.name), w.folder, g, runs)
}

// toolNamed is the rival of a name, and of none for dprelease.
func toolNamed(name string) tool {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return tool{}
	}
	return tools[i]
}

// asked are the tools that release statistics.
var asked = []string{"dprelease", "OpenDP", "PyDP (Google)", "PipelineDP", "SmartNoise", "private-pgm"}

// errors does all tasks, two at a time: only the time of a task asks for an idle machine.
func (s *study) errors(ctx context.Context, folder, only string, rows int) error {
	w, err := newWorld(folder, rows, 1)
	if err != nil {
		return err
	}
	s.truth = w.truth
	var wait sync.WaitGroup
	lines, errs, room := make([][]line, len(tasks)), make([]error, len(tasks)), make(chan struct{}, 2)
	for i, t := range tasks {
		if only != "" && only != t.name {
			continue
		}
		wait.Go(func() {
			room <- struct{}{}
			lines[i], errs[i] = s.doneBy(ctx, t, filepath.Join(folder, t.name), rows)
			<-room
		})
	}
	wait.Wait()
	s.lines = slices.Concat(lines...)
	return errors.Join(errs...)
}

// doneBy has all tools do a task, in a folder of its own.
func (s *study) doneBy(ctx context.Context, t task, folder string, rows int) (lines []line, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	w, err := newWorld(folder, rows, 1)
	if err != nil {
		return nil, err
	}
	for _, name := range asked {
		if (name == "private-pgm") != (t.name == "pairs") && name != "dprelease" {
			continue
		}
		for _, t := range t.ways(name) {
			for _, g := range guarantees {
				l := line{task: t, given: g, tool: name}
				switch {
				case t.needsDelta && g.delta == "0":
					continue
				case !t.needsDelta && g.delta != "0" && name != "dprelease": // its noise has no use for δ
					l = lines[len(lines)-1]
					l.given = g
				default:
					if l.answer, err = s.onTables(ctx, t, name, w, g, toolNamed(name).runs(t.name, s.runs)); err != nil {
						return nil, err
					}
					l.score = t.score(w, l.Runs)
				}
				fmt.Printf("%s, %s, %s: %.4g ± %.2g, %.4g found (%s%s)\n", t.name, g, name, l.rmse, l.se, l.found, l.How, l.Cannot)
				lines = append(lines, l)
			}
		}
	}
	return lines, nil
}

// onTables has a tool do a task on all its tables, which share the runs.
func (s *study) onTables(ctx context.Context, t task, name string, w *world, g guarantee, runs int) (answer, error) {
	if t.tables < 2 {
		return s.rival(ctx, t, name, w, g, runs)
	}
	var all answer
	for k := range t.tables {
		other, err := newWorld(w.folder, w.rows, uint64(k+1))
		if err != nil {
			return all, err
		}
		a, err := s.rival(ctx, t, name, other, g, max(1, runs/t.tables))
		if err != nil || a.Cannot != "" {
			return a, err
		}
		all = answer{How: a.How, Runs: append(all.Runs, w.moved(t, a.Runs, other)...), use: a.use}
	}
	_, err := newWorld(w.folder, w.rows, 1)
	return all, err
}

// times measures one run on a table of ten rows, which is a start, and on a large one.
func (s *study) times(ctx context.Context, folder string, large int) error {
	for i, rows := range []int{10, large} {
		w, err := newWorld(folder, rows, 1)
		if err != nil {
			return err
		}
		k := 0
		for _, t := range tasks {
			for _, name := range asked {
				if (name == "private-pgm") != (t.name == "pairs") && name != "dprelease" {
					continue
				}
				a, err := s.rival(ctx, t, name, w, guarantees[3], 1)
				if err != nil {
					return err
				}
				if i == 0 {
					s.costs = append(s.costs, cost{task: t, tool: name, start: a.use})
				} else {
					s.costs[k].large, s.costs[k].rows, s.costs[k].cannot = a.use, rows, a.Cannot
				}
				k++
			}
		}
	}
	return nil
}
