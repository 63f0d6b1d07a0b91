package guard

import (
	"errors"
	"sync"
)

// ErrPanic takes the place of a panic, whose words are dropped.
var ErrPanic = errors.New("a fault of the program itself")

// Do calls f and returns its error, or ErrPanic if f panics.
func Do(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrPanic
		}
	}()
	return f()
}

// Quietly calls f and drops a panic. It is for work whose end is all that anybody waits for.
func Quietly(f func()) { _ = Do(func() error { f(); return nil }) }

// Group runs functions side by side. Its zero value is ready for use.
type Group struct {
	wait   sync.WaitGroup
	mu     sync.Mutex
	failed error
}

// Run starts f.
func (g *Group) Run(f func()) {
	g.wait.Add(1)
	go func() {
		defer func() {
			defer g.wait.Done()
			if recover() != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.failed = ErrPanic
			}
		}()
		f()
	}()
}

// Wait returns when all functions have ended. If one of them panicked, it panics with ErrPanic: the caller is guarded.
func (g *Group) Wait() {
	g.wait.Wait()
	if g.failed != nil {
		panic(g.failed)
	}
}
