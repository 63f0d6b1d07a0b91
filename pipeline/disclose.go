package pipeline

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/disclose"
	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/whole"
	"github.com/dprelease/dprelease/report"
)

// Entry is an entry of the public registry of deployments; Hazard is one of NIST SP 800-226.
type (
	Entry  = disclose.Entry
	Hazard = disclose.Hazard
)

// WriteRegistry writes the entry of a run for the public registry into its output folder. The
// words are those of the run, or of words where it is not nil: they change no release.
func WriteRegistry(ctx context.Context, dir string, words *Job) (string, *Entry, error) {
	run, err := output.ReadRun(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	if words != nil {
		run.Report.Publication = (*report.Publication)(words.Publication)
	}
	day := ""
	if info, err := os.Stat(filepath.Join(dir, "report.json")); err == nil {
		day = info.ModTime().UTC().Format("2006-01-02")
	}
	entry, err := disclose.Registry(&run.Report, day)
	var incomplete *disclose.IncompleteError
	switch {
	case errors.As(err, &incomplete):
		return "", entry, failure.New(failure.ExitUsage, "REGISTRY_INCOMPLETE", "%v; add them to the job and name it with --job: they change no release", err)
	case err != nil:
		return "", entry, failure.New(failure.ExitBug, "REPORT", "%v", err)
	}
	path := filepath.Join(dir, entry.File)
	return path, entry, write(path, entry.Text)
}

// WriteNIST writes the hazards of NIST SP 800-226 with a verdict on each.
func WriteNIST(ctx context.Context, dir string) (string, []Hazard, error) {
	run, err := output.ReadRun(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := disclose.WriteNIST(&b, &run.Report); err != nil {
		return "", nil, failure.New(failure.ExitBug, "REPORT", "%v", err)
	}
	path := filepath.Join(dir, "hazards.html")
	return path, disclose.Hazards(&run.Report), write(path, b.Bytes())
}

// WriteAttestation writes an in-toto statement about the released files, for a person to sign.
func WriteAttestation(ctx context.Context, dir string) (string, error) {
	run, err := output.ReadRun(ctx, dir)
	if err != nil {
		return "", err
	}
	statement, err := disclose.Attest(dir, &run.Report)
	if err != nil {
		return "", failure.New(failure.ExitUsage, "RELEASE_CHANGED", "%v", err)
	}
	path := filepath.Join(dir, "attestation.json")
	return path, write(path, statement)
}

func write(path string, content []byte) error {
	if err := whole.WriteFile(path, content, 0o644); err != nil {
		return failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "%s cannot be written", path)
	}
	return nil
}
