package author

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/design"
)

func (e *environment) design() *cobra.Command {
	c := &cobra.Command{
		Use:   "design [TABLE | JOB]",
		Short: "Design a job on a page in the browser",
		Long: `design serves a page on this machine alone and prints its address. The page reads the
names and types of the columns and no value; of a CSV file it reads the first line when you
say that it is one. Nothing is run or spent. With a TABLE it writes a new job, called like
the table, into this folder when you save; with a JOB it changes that file.`,
		Example: `  dprelease design people.csv
  dprelease design job.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s := &design.Session{Path: "job.yaml", Getenv: e.Getenv, Mechanisms: e.Mechanisms(), Version: e.About().Version, Set: e.Set}
			if len(args) > 0 {
				switch ext := strings.ToLower(filepath.Ext(args[0])); ext {
				case ".yaml", ".yml":
					s.Path = args[0]
				default:
					s.Table = args[0]
					base, _, _ := strings.Cut(filepath.Base(filepath.Clean(s.Table)), ".")
					if s.Path = base + ".yaml"; s.Exists() {
						return fmt.Errorf("%s is there already: open it with dprelease design %s", s.Path, s.Path)
					}
				}
			}
			return e.serve(c.Context(), s)
		},
	}
	e.SetFlag(c)
	return c
}

// serve serves the page until ctx ends.
func (e *environment) serve(ctx context.Context, s *design.Session) error {
	l, server, address, err := s.Listen()
	if err != nil {
		return errors.New("no port of this machine could be opened")
	}
	e.Tell(e.Out, "the page for %s is open on this machine alone, at\n\n  %s\n\nopen the address in a browser; Ctrl-C ends the page\n",
		s.Path, address)
	server.BaseContext = func(net.Listener) context.Context { return ctx } // what is under way stops with the command
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close() // what is under way is given up
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
