package store

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/dprelease/dprelease/internal/data/companion"
	"github.com/dprelease/dprelease/internal/data/store/call"
	"github.com/dprelease/dprelease/internal/data/unlinked"
	"github.com/dprelease/dprelease/internal/guard"
)

// ErrProgram is the error of a program without its companion.
var ErrProgram = errors.New("is in object storage, which the program " + call.Program +
	" reads: it must stand in the same folder as this program, and does not, or does not start (make build makes both)")

// program is a running companion. Its methods may be called at once.
type program struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	scratch *unlinked.File

	mu      sync.Mutex
	to      *gob.Encoder
	waiting map[int]chan call.Answer
	last    int
	broken  bool // it ended, or nothing can be written to it
	users   int  // the bucket and its objects: the last one closes the scratch file
}

// start starts the companion that lies beside this program, and nowhere else: it is handed rows.
func start(ctx context.Context) (*program, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, ErrProgram
	}
	path := companion.Trusted(self, call.Program)
	if path == "" {
		return nil, ErrProgram
	}
	scratch, err := unlinked.New("")
	if err != nil {
		return nil, ErrScratch
	}
	file, _ := scratch.Share()
	p := &program{cmd: exec.Command(path), scratch: scratch, waiting: map[int]chan call.Answer{}, users: 1}
	p.cmd.ExtraFiles = []*os.File{file} // call.Scratch
	var out io.ReadCloser
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		out, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		scratch.Close()
		return nil, ErrProgram
	}
	p.to = gob.NewEncoder(p.in)
	go func() {
		guard.Quietly(func() { p.read(gob.NewDecoder(out)) })
		guard.Quietly(p.end)
	}()
	return p, nil
}

// read hands answers to those who wait for them, until the companion ends.
func (p *program) read(from *gob.Decoder) {
	for {
		var a call.Answer
		if err := from.Decode(&a); err != nil {
			return
		}
		p.mu.Lock()
		if c := p.waiting[a.ID]; c != nil {
			delete(p.waiting, a.ID)
			c <- a
		}
		p.mu.Unlock()
	}
}

// end tells those who wait that no more answers come.
func (p *program) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	for _, c := range p.waiting {
		close(c)
	}
	p.waiting = nil
}

// ask makes one call. A caller that gives up does not stop the companion, which others may use.
func (p *program) ask(ctx context.Context, r call.Request) (call.Answer, error) {
	answer := make(chan call.Answer, 1)
	p.mu.Lock()
	p.last++
	r.ID = p.last
	if !p.broken {
		p.waiting[r.ID] = answer
		p.broken = p.to.Encode(r) != nil
	}
	broken := p.broken
	p.mu.Unlock()
	if broken {
		return call.Answer{}, ErrAnswer
	}
	select {
	case <-ctx.Done():
		return call.Answer{}, ctx.Err()
	case a, ok := <-answer:
		if !ok {
			return a, ErrAnswer
		}
		return a, call.Error(a.Failed)
	}
}

// reserve gives an object its place in the scratch file.
func (p *program) reserve(size int64) (at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	return p.scratch.Reserve(size)
}

// release counts one user less, and closes the scratch file after the last one.
func (p *program) release() {
	p.mu.Lock()
	p.users--
	none := p.users == 0
	p.mu.Unlock()
	if none {
		p.scratch.Close()
	}
}

// stop ends the companion. What was fetched stays readable until the last object is closed.
func (p *program) stop() {
	p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.release()
}
