package pipeline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// entry is one line of the plain record beside an output folder. The record
// stands in for the ledger where the job names none: it keeps a run from being
// drawn twice, on one machine, for one output folder.
type entry struct {
	State   string  `json:"state"`
	Job     string  `json:"job"`
	Digest  string  `json:"digest"`
	Dataset string  `json:"dataset"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

const (
	stateDebited   = "debited"
	statePublished = "published"
)

// record is the plain record of one output folder.
type record struct{ path string }

func recordOf(outputDir string) record { return record{path: outputDir + ".record.jsonl"} }

// last returns the newest state of the job, "" where it is unknown.
func (r record) last(digest string) (string, error) {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	state := ""
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			return state, lines.Err()
		}
		if len(lines.Bytes()) == 0 {
			continue
		}
		if !bytes.HasSuffix(lines.Bytes(), []byte("}")) {
			continue // a line cut off by a crash was not durable: nothing followed it
		}
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return "", err
		}
		if e.Digest == digest {
			state = e.State
		}
	}
}

// append adds one durable line.
func (r record) append(e entry) error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err == nil {
		// A newline first ends a line that a crash may have cut off.
		_, err = f.Write(append(append([]byte{'\n'}, line...), '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(r.path))
}
