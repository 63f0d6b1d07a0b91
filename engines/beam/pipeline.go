package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dprelease/dprelease/engines/beam/worker"
	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/plugins/builtin"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(int, int), error](&partFn{})
	register.DoFn3x1[context.Context, []byte, func(int, []byte), error](&scatterFn{})
	register.DoFn4x1[context.Context, int, func(*[]byte) bool, func(int, int), error](&shardFn{})
	register.DoFn2x0[int, func(*int) bool](&doneFn{})
	register.Emitter2[int, []byte]()
	register.Emitter2[int, int]()
	register.Iter1[int]()
	register.Iter1[[]byte]()
}

// adder adds up parts in this process, whichever pipeline they are of.
var adder = &worker.Worker{Builtins: builtin.Mechanisms()}

// errPart is all that a runner is told of a failure: what went wrong with the data is in what was found (P20).
var errPart = errors.New("a part could not be added up")

// Task is the common part of the steps of a pipeline.
type Task struct {
	Work  Sealed
	Dir   string // of what is found, on a disk that all machines see
	Parts []int  // those of this step
}

// found puts what was found where the launching host looks. It appears whole or not at all; a second attempt puts the same
// in its place.
func (t *Task) found(o *opened, name string, text []byte) error {
	sealed, err := seal(o.Key, name, text)
	if err != nil {
		return err
	}
	return whole.WriteFile(filepath.Join(t.Dir, name), sealed, 0o600)
}

func partName(i int) string  { return fmt.Sprintf("part-%05d", i) }
func shardName(i int) string { return fmt.Sprintf("shard-%05d", i) }

// each opens the work and does something for each part. Errors have no words: a runner keeps and shows them.
func (t *Task) each(do func(o *opened, part int) error) (err error) {
	defer func() {
		if err != nil || recover() != nil {
			err = errPart
		}
	}()
	o, err := t.Work.open()
	for _, part := range t.Parts {
		if err == nil {
			begun(part)
			err = do(o, part)
		}
	}
	return err
}

// begun is told of each part that a worker begins. A test ends a worker here.
var begun = func(part int) {}

// partFn adds up parts of a table in which a row is a unit.
type partFn struct{ Task Task }

func (f *partFn) ProcessElement(ctx context.Context, _ []byte, emit func(int, int)) error {
	return f.Task.each(func(o *opened, i int) error {
		text, err := adder.Part(ctx, o.Order, i)
		if err == nil {
			err = f.Task.found(o, partName(i), text)
		}
		if err == nil {
			emit(0, i)
		}
		return err
	})
}

// doneFn ends a pipeline. Steps that add up tell it the numbers of their parts, for prism's sake: it waits for a step without
// an output by looping, which takes a processor away for as long as the step lasts.
type doneFn struct{}

// ProcessElement does nothing.
func (*doneFn) ProcessElement(int, func(*int) bool) {}

// scatterFn sends the rows of parts to the shards of their units.
type scatterFn struct{ Task Task }

func (f *scatterFn) ProcessElement(ctx context.Context, _ []byte, emit func(int, []byte)) error {
	return f.Task.each(func(o *opened, i int) error {
		pieces, tally, err := adder.Scatter(ctx, o.Order, i)
		if err == nil {
			err = f.Task.found(o, partName(i), tally)
		}
		for shard, piece := range pieces {
			var sealed []byte
			if err == nil {
				sealed, err = seal(o.Key, shardName(shard), piece)
			}
			if err == nil {
				emit(shard, sealed)
			}
		}
		return err
	})
}

// shardFn adds up the rows of a shard.
type shardFn struct{ Task Task }

func (f *shardFn) ProcessElement(ctx context.Context, shard int, pieces func(*[]byte) bool, emit func(int, int)) error {
	t := f.Task
	t.Parts = []int{shard}
	return t.each(func(o *opened, i int) error {
		var sent [][]byte
		var sealed []byte
		for pieces(&sealed) {
			piece, err := unseal(o.Key, shardName(i), sealed)
			if err != nil {
				return err
			}
			sent = append(sent, piece)
		}
		text, err := adder.Shard(ctx, o.Order, i, sent)
		if err == nil {
			err = f.Task.found(o, shardName(i), text)
		}
		if err == nil {
			emit(0, i)
		}
		return err
	})
}

// build makes the pipeline of some parts: steps that run side by side, each with its share of the parts, and where units
// have several rows a shuffle by unit.
func build(t Task, steps int, parts []int, shuffle bool) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	var sent, done []beam.PCollection
	for k := range min(steps, len(parts)) {
		mine := t
		mine.Parts = nil
		for i := k; i < len(parts); i += steps {
			mine.Parts = append(mine.Parts, parts[i])
		}
		if shuffle {
			sent = append(sent, beam.ParDo(s.Scope("scatter"), &scatterFn{mine}, beam.Impulse(s)))
		} else {
			done = append(done, beam.ParDo(s.Scope("add"), &partFn{mine}, beam.Impulse(s)))
		}
	}
	if shuffle {
		done = append(done, beam.ParDo(s.Scope("add"), &shardFn{t}, beam.GroupByKey(s, beam.Flatten(s, sent...))))
	}
	beam.ParDo0(s.Scope("done"), &doneFn{}, beam.GroupByKey(s, beam.Flatten(s, done...)))
	return p
}
