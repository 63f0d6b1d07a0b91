package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/dprelease/dprelease/internal/prose"
)

// columns is what text for people is laid out for: what $COLUMNS says, or else the
// terminal's width, and 0 where there is none: programs read lines as they are.
func (e *environment) columns(w io.Writer) int {
	if v, ok := e.getenv("COLUMNS"); ok {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			return prose.Columns(n)
		}
	}
	if !isTerminal(w) {
		return 0
	}
	n, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil || n <= 0 {
		n = 80 // a terminal that does not say
	}
	return prose.Columns(n)
}

// people lets write print text for people to w. What programs read must not go
// through it.
func (e *environment) people(w io.Writer, write func(io.Writer) error) error {
	columns := e.columns(w)
	if columns == 0 {
		return write(w)
	}
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, prose.Wrap(b.String(), columns))
	return err
}

// tell prints text for people.
func (e *environment) tell(w io.Writer, format string, args ...any) error {
	return e.people(w, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}
