package table

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

func workersOr(n int) int {
	if n > 0 {
		return min(n, 256)
	}
	return runtime.GOMAXPROCS(0)
}

// parallel calls do for every index below n on several goroutines. After the first failure the rest is called off,
// and that failure is returned.
func parallel(parent context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	var (
		next  atomic.Int64
		once  sync.Once
		cause error
		wg    sync.WaitGroup
	)
	for range min(workers, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := guarded(func() error { return do(ctx, i) })
				if err != nil && !errors.Is(err, ctx.Err()) {
					once.Do(func() { cause = err })
					cancel()
				}
			}
		})
	}
	wg.Wait()
	if cause != nil {
		return cause
	}
	return parent.Err()
}
