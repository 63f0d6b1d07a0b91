package table

import (
	"context"
	"errors"
)

// worker decodes pieces on one goroutine. What it keeps between pieces is memory to be used again.
type worker struct {
	pool    *pool
	unpack  unpacker
	library library
	raw     []byte
	digest  digester
	prefix  int // bytes in front of the values of the last page
}

func newWorker(p *pool) *worker { return &worker{pool: p} }

func (w *worker) close() { w.unpack.close() }

// scratch returns n bytes that stay valid until the next call.
func (w *worker) scratch(n int) []byte {
	if cap(w.raw) < n {
		w.raw = make([]byte, n+n/8)
	}
	return w.raw[:n]
}

// guarded runs f and turns a panic of a decoder into an error. The panic's text is dropped: it may quote the data.
func guarded(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = fail(CodeCorrupt, "", "the file cannot be decoded")
		}
	}()
	return f()
}

// about names the file and the place in an error that came from below.
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
