package engine

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os/exec"

	"github.com/dprelease/dprelease/internal/data/companion"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// Argument is the one argument with which a run starts the program of an engine.
const Argument = "__engine"

// Config is the engine section of the job.
type Config struct {
	Runner  string
	Options map[string]string
}

// Work is one request to a program.
type Work struct {
	Config        Config
	Order         []byte
	Check         bool // only whether it could be carried out
	Parts, Shards int
}

// Answer is one line of an answer. The last one has no part.
type Answer struct {
	Part    int // from 0; parts come first, then shards
	Data    []byte
	Done    bool
	Refused string // why nothing can be carried out: public words
	Failed  bool
	Stalled bool // it failed because nothing was finished any more
}

// Program is the program of an engine, started.
type Program struct {
	config Config
	cmd    *exec.Cmd
	in     io.WriteCloser
	to     *gob.Encoder
	from   *gob.Decoder
}

// Find finds the program of an engine beside this one.
func Find(self string) (string, error) {
	const name = "dprelease-beam"
	if path := companion.Trusted(self, name); path != "" {
		return path, nil
	}
	return "", failure.New(failure.ExitPlugin, "ENGINE_MISSING",
		"the job says engine, and the program %s is not in the folder of this program (docs/how-to/beam.md); "+
			"nothing was drawn and nothing debited", name)
}

var errStart = failure.New(failure.ExitPlugin, "ENGINE_REFUSED",
	"the program of the engine does not start; nothing was drawn and nothing debited")

// Start starts the program at a path for a job.
func Start(path string, config Config) (*Program, error) {
	p := &Program{config: config, cmd: exec.Command(path, Argument)}
	var out io.ReadCloser
	var err error
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		out, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, errStart
	}
	p.to, p.from = gob.NewEncoder(p.in), gob.NewDecoder(out)
	return p, nil
}

// Close ends the program.
func (p *Program) Close() {
	p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Check asks whether an order could be carried out.
func (p *Program) Check(ctx context.Context, order []byte) error {
	_, last, err := p.ask(ctx, Work{Order: order, Check: true})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil || last.Failed:
		return errStart
	case last.Refused != "":
		return failure.New(failure.ExitPlugin, "ENGINE_REFUSED", "%s; nothing was drawn and nothing debited", last.Refused)
	}
	return nil
}

// ErrStalled says that the work made no progress, in the words of a run that failed of it.
var ErrStalled = failure.New(failure.ExitPlugin, "ENGINE_FAILED",
	"the engine finished no part of the table for as long as engine.options.patience says, "+
		"and no more in further attempts"+failure.SpentOnly)

var errIncomplete = errors.New("the engine did not answer for every part")

// Tallies has an order carried out.
func (p *Program) Tallies(ctx context.Context, order []byte, parts, shards int) (ofParts, ofShards [][]byte, err error) {
	all, last, err := p.ask(ctx, Work{Order: order, Parts: parts, Shards: shards})
	if err == nil && last.Stalled {
		return nil, nil, ErrStalled
	}
	if err != nil || last.Failed || last.Refused != "" {
		return nil, nil, errIncomplete
	}
	for _, data := range all {
		if data == nil {
			return nil, nil, errIncomplete
		}
	}
	return all[:parts], all[parts:], nil
}

// ask sends work, and collects the answers. A part that is answered twice counts once: whoever carries it out again finds
// the same.
func (p *Program) ask(ctx context.Context, w Work) (all [][]byte, last Answer, err error) {
	defer context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })()
	w.Config = p.config
	if err := p.to.Encode(w); err != nil {
		return nil, last, err
	}
	all = make([][]byte, w.Parts+w.Shards)
	for {
		var a Answer
		switch err := p.from.Decode(&a); {
		case err != nil:
			return nil, a, err
		case a.Done:
			return all, a, nil
		case a.Part < 0 || a.Part >= len(all):
			return nil, a, errIncomplete
		case all[a.Part] == nil:
			all[a.Part] = a.Data
		}
	}
}
