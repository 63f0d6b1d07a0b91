package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// look prints a private look at a table on a terminal, or writes it to a private file
// (P19). The place is found before anybody looks.
func (e *environment) look(ctx context.Context, j *job.Job, out string) error {
	if out == "" && !command.IsTerminal(e.Out) {
		return errors.New("--data: standard output is no terminal: name a private file with --out CONFIDENTIAL-look.txt")
	}
	var file *os.File
	if out != "" {
		var err error
		if file, err = privateFile(out, j.Output.Dir); err != nil {
			return err
		}
		defer file.Close()
	}
	l, fails, err := e.jobs.look(ctx, j, e.Options())
	if err != nil {
		if file != nil {
			_ = os.Remove(out) // it is empty, and was made here
		}
		return e.Fail(ctx, err)
	}
	if file != nil {
		err = e.writeLook(file, l)
		if err == nil {
			err = e.Say(struct {
				command.Mark
				Exit int    `json:"exit"`
				Out  string `json:"out"`
			}{e.Mark("done"), command.ExitDone, out}, "%s: what was found is in %s\n", j.File, out)
		}
	} else {
		err = e.Print(l)
	}
	if err == nil && fails {
		return e.FailWith(command.Unspent(failure.ExitSource, "DATA_UNFIT", "a run of this job would fail, or release nothing of use; "+
			"the look says at what"), nil)
	}
	return err
}

// writeLook writes a look whole: what is cut off would seem to find nothing.
func (e *environment) writeLook(file *os.File, l command.Answer) error {
	var b bytes.Buffer
	err := l.WriteText(&b)
	if e.JSON {
		b.Reset()
		encoder := json.NewEncoder(&b)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(l)
	}
	if err == nil {
		_, err = file.Write(b.Bytes())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return e.FailWith(command.Unspent(command.ExitBug, "OUTPUT", "what was found cannot be written to "+file.Name()), nil)
	}
	return nil
}

// marked begins the name of each private file.
const marked = "CONFIDENTIAL"

// privateFile makes a file for private facts: a new one, marked, for its owner alone, and
// not in the folder of the releases.
func privateFile(path, releases string) (*os.File, error) {
	if err := privateName("--out", path, releases); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("--out: %s is there already", path)
	case err != nil:
		return nil, fmt.Errorf("--out: %s cannot be made", path)
	}
	return f, nil
}

// privateName refuses a name that does not say that its file is private, and the folder of the releases.
func privateName(flag, path, releases string) error {
	if !strings.HasPrefix(filepath.Base(path), marked) {
		return fmt.Errorf("%s: the name must begin with %s, for example %s", flag, marked,
			filepath.Join(filepath.Dir(path), marked+"-"+filepath.Base(path)))
	}
	if file.Within(file.Real(filepath.Dir(path)), file.Real(releases)) {
		return fmt.Errorf("%s: %s is where the releases go, and this file is private: name another folder", flag, releases)
	}
	return nil
}
