package account

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/privacy/expr"
)

// Exit codes of the command.
const (
	ExitDone    = 0
	ExitFailed  = 1 // the answer could not be written, or a bug
	ExitUsage   = 2 // options that do not fit together, a file that cannot be read
	ExitInvalid = 3 // the question is invalid or has no answer
)

// Options say where the question comes from and what the answer looks like.
type Options struct {
	// Expr is the question itself, in YAML or JSON. A single word that names an
	// existing file is read as File.
	Expr string
	// File is the file that holds the question; "-", or neither Expr nor File,
	// stands for standard input.
	File string
	// JSON prints one object instead of the table.
	JSON bool
	// JSONL reads one question a line and writes one answer a line.
	JSONL bool

	_ struct{}
}

// maxFile bounds a file of questions, in bytes.
const maxFile = 1 << 30

// Run answers and returns the exit code. Answers go to out, problems to errw.
// It returns when out fails, even if in still waits for input.
func Run(in io.Reader, out, errw io.Writer, o Options) int {
	o = withFile(o)
	if err := o.check(); err != nil {
		return complain(errw, ExitUsage, err)
	}
	name := "stdin"
	if o.File != "" && o.File != "-" {
		name = o.File
		f, err := file.Bounded(o.File, maxFile)
		if err != nil {
			return refuse(out, errw, o, ExitUsage, readError(o.File, err))
		}
		defer f.Close() //nolint:errcheck // read only
		in = f
	}
	if o.JSONL {
		return stream(in, name, out, errw)
	}
	text := []byte(o.Expr)
	if o.Expr != "" {
		name = "argument"
	} else {
		// One byte beyond the limit tells a text that is too large from one that
		// just fits; the rest of it is never read.
		var err error
		if text, err = io.ReadAll(io.LimitReader(in, expr.MaxBytes+1)); err != nil {
			return refuse(out, errw, o, ExitUsage, readError(name, err))
		}
	}
	q, problems := expr.ParseQuery(text, name)
	if problems != nil {
		return refuse(out, errw, o, ExitInvalid, problems)
	}
	return one(q, out, errw, o)
}

func one(q *expr.Query, out, errw io.Writer, o Options) int {
	a, err := answerQuery(q)
	if err != nil {
		code := ExitInvalid
		if errors.Is(err, errBug) {
			code = ExitFailed
		}
		return refuse(out, errw, o, code, err)
	}
	write := a.writeText
	if o.JSON {
		write = a.writeJSON
	}
	if err := write(out); err != nil {
		return complain(errw, ExitFailed, fmt.Errorf("the answer cannot be written: %w", err))
	}
	return ExitDone
}

// withFile takes an expression that is a file's name for that file.
func withFile(o Options) Options {
	if o.Expr == "-" && o.File == "" {
		o.Expr, o.File = "", "-"
	}
	if o.Expr == "" || o.File != "" || len(o.Expr) > 4096 || strings.ContainsAny(o.Expr, "{}[]\n") {
		return o
	}
	if s, err := os.Stat(o.Expr); err == nil && !s.IsDir() {
		o.Expr, o.File = "", o.Expr
	}
	return o
}

func (o Options) check() error {
	switch {
	case o.Expr != "" && o.File != "":
		return errors.New("an expression and a file are both given: choose one")
	case o.JSON && o.JSONL:
		return errors.New("--json and --jsonl exclude each other: one object, or one a line")
	case o.JSONL && o.Expr != "":
		return errors.New("--jsonl reads its questions from standard input or a file, not from an argument")
	}
	return nil
}

func readError(name string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: cannot be read: %w", name, err)
}

// refuse writes why a question has no answer: to people on errw, and to a program that
// asked for JSON as an object on out, like a bad line of --jsonl.
func refuse(out, errw io.Writer, o Options, code int, err error) int {
	if !o.JSON {
		return complain(errw, code, err)
	}
	var problems expr.Problems
	if errors.As(err, &problems) {
		err = errors.New(problems.Join("; "))
	}
	if _, writeErr := out.Write(errorLine(err)); writeErr != nil {
		return complain(errw, ExitFailed, fmt.Errorf("the answer cannot be written: %w", writeErr))
	}
	return code
}

func complain(errw io.Writer, code int, err error) int {
	fmt.Fprintln(errw, err) //nolint:errcheck // there is no one left to tell
	return code
}
