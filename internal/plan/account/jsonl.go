package account

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/dprelease/dprelease/privacy/expr"
)

// task is one line of a stream on its way to its answer.
type task struct {
	number int
	text   []byte
	long   bool // more than expr.MaxBytes; text is empty
	done   chan []byte
}

// stream answers one question a line, in order, on all processors.
//
// The reader starts an answer for each line and puts the line into the writer's queue.
// The queue is short: it bounds how far reading runs ahead of writing, and so the
// memory.
func stream(in io.Reader, name string, out, errw io.Writer) int {
	order := make(chan *task, 2*runtime.GOMAXPROCS(0))
	stop := make(chan struct{})
	defer close(stop)
	var readErr error
	go func() {
		defer close(order)
		readErr = readLines(in, func(t *task) bool {
			select {
			case order <- t:
				go func() { t.done <- answerLine(t, name) }()
				return true
			case <-stop:
				return false
			}
		})
	}()
	if err := writeInOrder(out, order); err != nil {
		return complain(errw, ExitFailed, fmt.Errorf("the answers cannot be written: %w", err))
	}
	if readErr != nil { // written before order was closed
		return complain(errw, ExitUsage, readError(name, readErr))
	}
	return ExitDone
}

// writeInOrder flushes whenever the next answer is not ready yet. So somebody who waits
// for an answer before asking again gets it.
func writeInOrder(out io.Writer, order <-chan *task) error {
	w := bufio.NewWriterSize(out, 64<<10)
	for {
		var t *task
		var ok bool
		select {
		case t, ok = <-order:
		default:
			if err := w.Flush(); err != nil {
				return err
			}
			t, ok = <-order
		}
		if !ok {
			return w.Flush()
		}
		var line []byte
		select {
		case line = <-t.done:
		default:
			if err := w.Flush(); err != nil {
				return err
			}
			line = <-t.done
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// readLines hands out the lines that are not empty. It skips lines that are too long, and
// never holds them in memory.
func readLines(in io.Reader, hand func(*task) bool) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for number := 1; ; number++ {
		t := &task{number: number, done: make(chan []byte, 1)}
		var err error
		for {
			var piece []byte
			piece, err = r.ReadSlice('\n')
			if len(t.text)+len(piece) > expr.MaxBytes {
				t.long, t.text = true, nil
			}
			if !t.long {
				t.text = append(t.text, piece...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		t.text = bytes.TrimRight(t.text, "\r\n")
		if t.long || len(bytes.TrimSpace(t.text)) > 0 {
			if !hand(t) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answerLine is the answer to one line: an object, or what is wrong with it.
func answerLine(t *task, name string) []byte {
	if t.long {
		return errorLine(fmt.Errorf("%s:%d:1: the line is larger than 1 MiB", name, t.number))
	}
	q, problems := expr.ParseQueryJSON(t.text, name)
	if problems != nil {
		problems.OffsetLines(t.number - 1)
		return errorLine(errors.New(problems.Join("; ")))
	}
	a, err := answerQuery(q)
	var late expr.Problems
	if errors.As(err, &late) {
		late.OffsetLines(t.number - 1)
		err = errors.New(late.Join("; "))
	}
	if err != nil {
		return errorLine(err)
	}
	line, err := a.line()
	if err != nil {
		return errorLine(err)
	}
	return line
}

func errorLine(err error) []byte {
	// A struct of one string always marshals.
	b, _ := json.Marshal(struct {
		Error string `json:"error"`
	}{err.Error()})
	return append(b, '\n')
}
