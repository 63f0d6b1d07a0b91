//go:build linux

package host

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"
)

// Releases of one process go on side by side: none of them ends before all have begun, and each has its own rows and noise.
func TestBeside(t *testing.T) {
	p := start(t, "good", Limits{})
	plan, err := p.Beside("sum").Plan(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	const n = 8
	var begun, all sync.WaitGroup
	begun.Add(n)
	for range n {
		one := p.Beside("sum")
		if one.Pid() != p.Pid() {
			t.Fatal("it has a process of its own")
		}
		all.Go(func() {
			dr := &fakeDrawer{}
			got, err := one.Release(t.Context(), releaseOf(request(), plan), func(ctx context.Context, w RowWriter) error {
				begun.Done()
				begun.Wait()
				return rows(ctx, w)
			}, dr)
			if want := good(2*2*(secret+2)+10, 2+3, 7+3); err != nil || !reflect.DeepEqual(got, want) || dr.laplace != 1 || dr.gaussian != 2 {
				t.Errorf("got %+v, %v, draws %+v", got, err, dr)
			}
		})
	}
	all.Wait()
}

// A release that fails ends those beside it. They are not blamed, and later ones hear that the plugin is closed.
func TestBesideFails(t *testing.T) {
	p := start(t, "good", Limits{})
	bad, other := p.Beside("sum"), p.Beside("sum")
	plan, err := p.Plan(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	waits, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := other.Release(t.Context(), releaseOf(request(), plan), func(ctx context.Context, w RowWriter) error {
			close(waits)
			<-ctx.Done()
			return ctx.Err()
		}, &fakeDrawer{})
		done <- err
	}()
	<-waits
	_, err = bad.Release(t.Context(), releaseOf(request(), plan), rows, &fakeDrawer{err: errors.New("no noise")})
	checkCode(t, err, CodeNoiseFailed)
	select {
	case err := <-done:
		checkCode(t, err, CodeCanceled)
	case <-time.After(time.Minute):
		t.Fatal("the release beside it goes on")
	}
	_, err = other.Plan(t.Context(), request())
	checkCode(t, err, CodeClosed)
}

// An error of the caller's own ends its release, and none beside it.
func TestBesideACallersError(t *testing.T) {
	p := start(t, "good", Limits{})
	plan, err := p.Plan(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the table is broken")
	_, err = p.Beside("sum").Release(t.Context(), releaseOf(request(), plan), func(ctx context.Context, w RowWriter) error {
		_, err := p.Beside("sum").Release(ctx, releaseOf(request(), plan), func(context.Context, RowWriter) error { return broken }, &fakeDrawer{})
		if err != broken {
			t.Errorf("got %v", err)
		}
		return rows(ctx, w)
	}, &fakeDrawer{})
	if err != nil {
		t.Error(err)
	}
}

// A crash names all that the process served.
func TestBesideCrashes(t *testing.T) {
	p := start(t, "good", Limits{})
	one, _ := p.Beside("sum"), p.Beside("another")
	plan, err := one.Plan(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	_, err = one.Release(t.Context(), releaseOf(request(), plan), func(ctx context.Context, w RowWriter) error {
		p.runner.process().Kill(time.Second)
		return rows(ctx, w)
	}, &fakeDrawer{})
	checkCode(t, err, CodeCrash)
	var e *Error
	if errors.As(err, &e); e.Plugin != "another, sum" {
		t.Errorf("it names %q", e.Plugin)
	}
}
