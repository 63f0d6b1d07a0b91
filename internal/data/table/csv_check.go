package table

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/dprelease/dprelease/internal/guard"
)

// check reads the file once: it checks the text, counts the rows, and makes the digests of the columns.
func (f *csvFile) check(ctx context.Context, s *splitter, first []byte, used int) error {
	end := csvBlock{off: int64(used), line: 1 + bytes.Count(first[:used], newline)}
	next := func(buf []byte) (*csvBlock, []byte, error) {
		text := first[used:]
		if first, used = nil, 0; len(text) == 0 {
			var err error
			if text, err = s.next(buf); len(text) == 0 {
				return nil, nil, err
			}
		}
		b := &csvBlock{off: end.off, size: len(text), line: end.line, cells: make([]xxh3.Uint128, len(f.cols))}
		f.blocks = append(f.blocks, b)
		end.off += int64(b.size)
		end.line += bytes.Count(text, newline)
		return b, text, nil
	}
	return f.each(ctx, next, func(b *csvBlock, text []byte, c *cellDigests) error {
		if err := f.isText(text, b.line); err != nil {
			return err
		}
		b.sum = xxh3.Hash128(text)
		return f.digest(b, text, f.hashed, c, f.keeping(1+bytes.Count(text, newline)))
	})
}

// keeping makes room for the values of a block of at most so many rows, which are kept for scans. It returns nil once there is
// no more room.
func (f *csvFile) keeping(rows int) []*csvCells {
	if f.keep == nil || f.keep.full.Load() {
		return nil
	}
	kept := make([]*csvCells, len(f.cols))
	for col := range f.cols {
		if !f.hashed[col] || !f.cols[col].Usable {
			continue
		}
		kept[col] = f.cells(col, &vec{})
		if kept[col].begin(&f.keep.arena, rows) != nil {
			return f.full(kept)
		}
	}
	return kept
}

// full gives back the room of a block, for whose values there is too little.
func (f *csvFile) full(kept []*csvCells) []*csvCells {
	f.keep.full.Store(true)
	for _, c := range kept {
		if c != nil {
			c.out.hold.release(&f.keep.arena)
		}
	}
	return nil
}

// again reads the blocks of a file once more after check.
func (f *csvFile) again() (next func(buf []byte) (*csvBlock, []byte, error), err error) {
	r, err := f.text()
	if err != nil {
		return nil, err
	}
	left, from := f.blocks, &csvStream{r: r}
	return func(buf []byte) (*csvBlock, []byte, error) {
		if len(left) == 0 {
			return nil, nil, nil
		}
		b := left[0]
		left = left[1:]
		buf = slices.Grow(buf[:0], b.size)[:b.size]
		return b, buf, from.read(b, buf)
	}, nil
}

// cellDigests collects the texts of the cells of a block, for each column that is hashed.
type cellDigests struct{ texts [][]byte }

// digest parses a block. It notes the number of rows and the digests of some columns, and keeps their values where there is
// room for them.
func (f *csvFile) digest(b *csvBlock, text []byte, of []bool, c *cellDigests, kept []*csvCells) error {
	if c.texts == nil {
		c.texts = make([][]byte, len(f.cols))
	}
	var wanted []int
	for col, is := range of {
		if is {
			wanted = append(wanted, col)
			c.texts[col] = c.texts[col][:0]
		}
	}
	rows := 0
	err := f.rows(text, func(fields []string) error {
		for _, col := range wanted {
			to := binary.AppendUvarint(c.texts[col], uint64(len(fields[col])))
			c.texts[col] = append(to, fields[col]...)
			if kept != nil && kept[col] != nil && kept[col].add(rows, fields[col]) != nil {
				kept = f.full(kept)
			}
		}
		rows++
		return nil
	})
	if err != nil {
		return f.misplaced(err, text, b.line)
	}
	if b.rows != rows { // a second pass may run beside a scan, which reads it
		b.rows = rows
	}
	for _, col := range wanted {
		b.cells[col] = xxh3.Hash128(c.texts[col])
	}
	if kept != nil {
		b.kept = make([]*vec, len(kept))
	}
	for col, k := range kept {
		if k != nil {
			k.end()
			k.out.cut(rows)
			b.kept[col] = k.out
		}
	}
	return nil
}

// each reads block after block and calls do for them on several goroutines. It returns the error of the earliest block
// that has one, whichever goroutine was faster.
func (f *csvFile) each(ctx context.Context, next func(buf []byte) (*csvBlock, []byte, error),
	do func(b *csvBlock, text []byte, c *cellDigests) error) error {
	var (
		reading, mu sync.Mutex
		cause       error
		at          int64 // the place of cause
		wg          guard.Group
	)
	failed := func(off int64, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && (cause == nil || off < at) {
			cause, at = err, off
		}
	}
	take := func(buf []byte) (b *csvBlock, text []byte) {
		reading.Lock()
		defer reading.Unlock()
		mu.Lock()
		stop := cause != nil
		mu.Unlock()
		if stop {
			return nil, nil
		}
		err := ctx.Err()
		if err == nil {
			err = guarded(func() (err error) { b, text, err = next(buf); return err })
		}
		if err != nil {
			failed(math.MaxInt64, err)
			return nil, nil
		}
		return b, text
	}
	for range min(workersOr(0), maxCSVWorkers) {
		wg.Run(func() {
			var c cellDigests
			for b, text := take(nil); b != nil; b, text = take(text) {
				failed(b.off, guarded(func() error { return do(b, text, &c) }))
			}
		})
	}
	wg.Wait()
	return cause
}

// maxCSVWorkers bounds the memory of a pass over a file: each worker has a block.
const maxCSVWorkers = 16

// verify makes the digests that opening did not make. Opening checked everything else.
func (f *csvFile) verify(ctx context.Context, cols []int, _ int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := make([]bool, len(f.cols))
	for _, col := range cols {
		of[col] = !f.hashed[col]
	}
	if !slices.Contains(of, true) {
		return nil
	}
	next, err := f.again()
	if err != nil {
		return err
	}
	err = f.each(ctx, next, func(b *csvBlock, text []byte, c *cellDigests) error {
		if xxh3.Hash128(text) != b.sum {
			return errChanged
		}
		return f.digest(b, text, of, c, nil)
	})
	for col, is := range of {
		f.hashed[col] = f.hashed[col] || is && err == nil
	}
	return err
}

func (f *csvFile) storage(col int) string {
	h := sha256.New()
	for _, b := range f.blocks {
		sum := b.cells[col].Bytes()
		_, _ = h.Write(sum[:])
	}
	return fmt.Sprintf("csv %x", h.Sum(nil))
}
