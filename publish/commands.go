package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/internal/output/stored"
	"github.com/dprelease/dprelease/internal/say/prose"
	"github.com/dprelease/dprelease/internal/say/publication"
	"github.com/dprelease/dprelease/publish/compared"
	"github.com/dprelease/dprelease/publish/disclose"
)

// command makes a command that takes a number of folders, and prints an answer as text or as one JSON object.
func command(use, short, long string, folders int, run func(dirs []string) (answer, error)) *cobra.Command {
	var asJSON, quiet bool
	c := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: cobra.ExactArgs(folders),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			a, err := run(args)
			if err != nil {
				return err
			}
			return a.print(c.OutOrStdout(), asJSON, quiet)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the outcome as one JSON object")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but problems")
	return c
}

// answer is the output of a command: a text for people, and the same for programs.
type answer struct {
	text string
	json any
}

func (a answer) print(w io.Writer, asJSON, quiet bool) error {
	text := prose.Graphic(a.text)
	if asJSON {
		b, err := json.Marshal(a.json)
		if err != nil {
			return &stored.Error{Code: "REPORT", Message: err.Error()}
		}
		text = string(b) + "\n"
	}
	if quiet && !asJSON {
		return nil
	}
	if _, err := io.WriteString(w, text); err != nil {
		return &stored.Error{Code: "OUTPUT", Message: "the answer cannot be written"}
	}
	return nil
}

// done is the answer of a command that wrote a file, with what else a program wants to know.
func done(key, path string, more map[string]any) map[string]any {
	out := map[string]any{"event": "done", "exit": exitDone, key: path}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func registry() *cobra.Command {
	var words string
	c := command("registry DIR", "Write an entry for the public registry of deployments",
		`registry writes an entry for the public registry of deployments into the folder, and says which tier it
reaches and which fields only a person can fill: the key publication of the job. --words takes them
from another file; they change no release.`, 1,
		func(dirs []string) (answer, error) { return writeEntry(dirs[0], words) })
	c.Flags().StringVar(&words, "words", "", "take the words of publication from this YAML file, such as the job, not from the run")
	_ = c.MarkFlagFilename("words", "yaml", "yml")
	c.Example = "  dprelease publish registry out --words job.yaml"
	return c
}

func writeEntry(dir, words string) (answer, error) {
	run, err := read(dir)
	if err != nil {
		return answer{}, err
	}
	if words != "" {
		if run.Report.Publication, err = publication.Read(words); err != nil {
			return answer{}, err
		}
	}
	day := ""
	if info, err := os.Stat(filepath.Join(dir, "report.json")); err == nil {
		day = info.ModTime().UTC().Format("2006-01-02")
	}
	entry, err := disclose.Registry(&run.Report, day)
	var incomplete *disclose.IncompleteError
	switch {
	case errors.As(err, &incomplete):
		return answer{}, &stored.Error{Code: "REGISTRY_INCOMPLETE",
			Message: err.Error() + "; add them to the job and name it with --words: they change no release"}
	case err != nil:
		return answer{}, &stored.Error{Code: "REPORT", Message: err.Error()}
	}
	path := filepath.Join(dir, entry.File)
	text := fmt.Sprintf("%s\ntier %d of 3\n", path, entry.Tier)
	for _, m := range entry.Missing {
		text += fmt.Sprintf("tier %d lacks %s: only a person knows; publication: %s\n", m.Tier, m.Field, m.Key)
	}
	if entry.Dated {
		text += "publication_date is the day of the file report.json; publication: published says another\n"
	}
	return answer{text, done("entry", path, map[string]any{"tier": entry.Tier, "missing": entry.Missing})}, write(path, entry.Text)
}

func nist() *cobra.Command {
	c := command("nist DIR", "Write the hazards of NIST SP 800-226 with a verdict on each",
		"nist writes hazards.html into the folder: the hazards of NIST SP 800-226, with a verdict and evidence for each.", 1,
		func(dirs []string) (answer, error) {
			run, err := read(dirs[0])
			if err != nil {
				return answer{}, err
			}
			var page bytes.Buffer
			if err := disclose.WriteNIST(&page, &run.Report); err != nil {
				return answer{}, &stored.Error{Code: "REPORT", Message: err.Error()}
			}
			all := disclose.Hazards(&run.Report)
			var text strings.Builder
			t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
			for _, h := range all {
				fmt.Fprintf(t, "%s\t%s\t%s\n", h.Number, h.Verdict, h.Hazard)
			}
			t.Flush()
			path := filepath.Join(dirs[0], "hazards.html")
			return answer{text.String() + path + "\n", done("page", path, map[string]any{"hazards": all})}, write(path, page.Bytes())
		})
	c.Example = "  dprelease publish nist out"
	return c
}

func attest() *cobra.Command {
	c := command("attest DIR", "Write an in-toto statement about the released files, to be signed",
		"attest writes attestation.json into the folder: an in-toto statement about the released files, which a person signs.", 1,
		func(dirs []string) (answer, error) {
			run, err := read(dirs[0])
			if err != nil {
				return answer{}, err
			}
			statement, err := disclose.Attest(dirs[0], &run.Report)
			if err != nil {
				return answer{}, &stored.Error{Code: "RELEASE_CHANGED", Message: err.Error()}
			}
			path := filepath.Join(dirs[0], "attestation.json")
			return answer{path + "\n", done("statement", path, nil)}, write(path, statement)
		})
	c.Example = "  dprelease publish attest out"
	return c
}

func compare() *cobra.Command {
	var page, table string
	c := command("compare A B", "Say what differs between two runs, and what both cost together",
		`compare says what changed in the job and in the public facts about the data, which results differ by
more than noise explains, and what both runs cost together.`, 2,
		func(dirs []string) (answer, error) { return compareRuns(dirs, page, table) })
	c.Flags().StringVar(&page, "html", "", "also write it as a page into this file")
	c.Flags().StringVar(&table, "csv", "", "also write the values of both, with intervals for their differences, into this file")
	c.Example = "  dprelease publish compare out-2025 out-2026 --html compared.html --csv compared.csv"
	return c
}

func compareRuns(dirs []string, page, table string) (answer, error) {
	var sides [2]compared.Side
	for i, dir := range dirs {
		run, err := read(dir)
		if err != nil {
			return answer{}, err
		}
		sides[i] = compared.Side{Name: dir, Report: run.Report, Values: run.Values}
	}
	c := compared.Compare(sides[0], sides[1])
	for _, f := range []struct {
		path string
		form func(io.Writer) error
	}{{page, c.WriteHTML}, {table, c.WriteCSV}} {
		if f.path == "" {
			continue
		}
		var text bytes.Buffer
		if err := f.form(&text); err != nil {
			return answer{}, &stored.Error{Code: "REPORT", Message: err.Error()}
		}
		if err := write(f.path, text.Bytes()); err != nil {
			return answer{}, err
		}
	}
	var text strings.Builder
	if err := c.WriteText(&text); err != nil {
		return answer{}, &stored.Error{Code: "REPORT", Message: err.Error()}
	}
	return answer{text.String(), c}, nil
}

// read reads an output folder. Releases in Parquet and Arrow alone have no values here.
func read(dir string) (stored.Run, error) {
	run, err := stored.Read(dir, nil)
	var known *stored.Error
	if err != nil && !errors.As(err, &known) {
		err = &stored.Error{Code: "REPORT", Message: err.Error()}
	}
	return run, err
}

func write(path string, content []byte) error {
	if err := whole.WriteFile(path, content, 0o644); err != nil {
		return &stored.Error{Code: "OUTPUT_UNWRITABLE", Message: path + " cannot be written"}
	}
	return nil
}
