package table

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/dprelease/dprelease/internal/guard"
)

// worker decodes pieces on one goroutine.
type worker struct {
	arena  *arena
	unpack unpacker
	pieces *bufio.Reader // of a page that is unpacked as it is read
	prefix int           // bytes before the values of the last page
	skim   bool          // texts are found, and not kept
}

// guarded turns a panic of f into an error. It drops the panic's text, which may quote the data.
func guarded(f func() error) error {
	err := guard.Do(f)
	if err == guard.ErrPanic {
		return fail(CodeCorrupt, "", "the file cannot be decoded")
	}
	return err
}

// about adds a file and a place in it to an error.
func about(err error, file, place string) error {
	var e *Error
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &e) && e.File == "":
		return fail(e.Code, file, place+": "+e.Detail)
	}
	return refuse(file, err)
}

func workersOr(n int) int {
	if n > 0 {
		return min(n, 256)
	}
	return runtime.GOMAXPROCS(0)
}

// parallel calls do for every index below n on several goroutines. After the first failure it calls the rest off and
// returns that failure.
func parallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := 0; i < n && inner.Err() == nil; i++ {
		group.Go(func() error { return guarded(func() error { return do(inner, i) }) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}
