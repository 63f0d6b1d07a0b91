package command

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dprelease/dprelease/internal/say/prose"
)

// columns returns the width that text for people is laid out for: what $COLUMNS says,
// or else the terminal's width, and 0 where there is none: programs read lines as they
// are.
func (e *Environment) columns(w io.Writer) int {
	if v, ok := e.Getenv("COLUMNS"); ok {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			return prose.Columns(n)
		}
	}
	if !IsTerminal(w) {
		return 0
	}
	return prose.Columns(terminalColumns(w))
}

// terminalColumns returns the width of a terminal, and 80 where it does not say.
func terminalColumns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// People lets write print text for people to w. What programs read must not go
// through it.
func (e *Environment) People(w io.Writer, write func(io.Writer) error) error {
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	text := prose.Graphic(b.String())
	if columns := e.columns(w); columns > 0 {
		text = prose.Wrap(text, columns)
	}
	if e.coloured(w) {
		text = colours.Replace("\n" + text)[1:]
	}
	_, err := io.WriteString(w, text)
	return err
}

// colours gives the signs at the beginning of a line a colour. Each sign says the same
// without it.
var colours = strings.NewReplacer("\n✗ ", "\n\x1b[31m✗\x1b[0m ", "\n! ", "\n\x1b[33m!\x1b[0m ", "\n✓ ", "\n\x1b[32m✓\x1b[0m ")

// coloured reports whether a person looks and has nothing against colours: see
// no-color.org and CLICOLOR.
func (e *Environment) coloured(w io.Writer) bool {
	value := func(name string) string {
		v, _ := e.Getenv(name)
		return v
	}
	switch forced := value("CLICOLOR_FORCE"); {
	case value("NO_COLOR") != "":
		return false
	case forced != "" && forced != "0":
		return true
	case value("CLICOLOR") == "0" || value("TERM") == "dumb":
		return false
	}
	return IsTerminal(w)
}

// Tell prints text for people.
func (e *Environment) Tell(w io.Writer, format string, args ...any) error {
	return e.People(w, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}

// help lays the help of a command out for a terminal: its paragraphs anew, and the
// words about flags beside them. Usage lines and examples are commands to be copied:
// they stay as they are.
func (e *Environment) help(show func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) {
		columns := e.columns(e.Out)
		if columns == 0 {
			show(c, args)
			return
		}
		var b strings.Builder
		c.SetOut(&b)
		show(c, args)
		c.SetOut(e.Out)
		about, usage, found := strings.Cut(b.String(), "\nUsage:\n")
		text := prose.Fill(about, columns)
		if found {
			text += "\nUsage:\n" + laidUsage(usage, columns)
		}
		_, _ = io.WriteString(e.Out, text) // as cobra: help that nobody reads is no failure
	}
}

// laidUsage lays out the sections of a usage text that hold no commands.
func laidUsage(usage string, columns int) string {
	var out strings.Builder
	commands := true // the first section is the usage line
	for line := range strings.Lines(usage) {
		if name, ok := strings.CutSuffix(line, ":\n"); ok && !strings.HasPrefix(line, " ") {
			commands = name == "Examples" || name == "Aliases"
		}
		if !commands {
			line = prose.Wrap(line, columns)
		}
		out.WriteString(line)
	}
	return out.String()
}

// IsTerminal reports whether a person reads what is written to w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
