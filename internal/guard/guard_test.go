package guard_test

import (
	"errors"
	"testing"

	"github.com/dprelease/dprelease/internal/guard"
)

var errOwn = errors.New("own")

func TestDo(t *testing.T) {
	if err := guard.Do(func() error { return errOwn }); err != errOwn {
		t.Error(err)
	}
	if err := guard.Do(func() error { panic("a value") }); err != guard.ErrPanic {
		t.Error(err)
	}
	guard.Quietly(func() { panic("a value") })
}

// A panic of one function of a group reaches who waits, without its words, and after all others have ended.
func TestGroup(t *testing.T) {
	var g guard.Group
	done := make(chan bool, 2)
	g.Run(func() { done <- true })
	g.Run(func() { panic("a value") })
	g.Run(func() { done <- true })
	if err := guard.Do(func() error {
		defer func() {
			if p := recover(); p != guard.ErrPanic {
				t.Errorf("the group panics with %v", p)
			} else {
				panic(p)
			}
		}()
		g.Wait()
		return nil
	}); err != guard.ErrPanic || len(done) != 2 {
		t.Error(err, len(done))
	}
	var fine guard.Group
	fine.Run(func() {})
	fine.Wait()
}
