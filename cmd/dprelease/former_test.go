package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/dprelease/dprelease/internal/postgrestest"
	"github.com/dprelease/dprelease/internal/tier"
)

// formerJobs are the jobs in testdata/former, which an earlier version carried out.
var formerJobs = []string{"collected/job", "counts/job", "households/job", "median/job", "panel/job", "panel/job-later", "randomized-response/job",
	"schools/job", "sgd-batches/job", "sgd-income/job", "sgd-schools/job", "postgres/job"}

// The ledgers of an earlier version keep their memory: every job publishes the bytes
// that it released then, and nothing is spent, however the path of the table is spelled.
func TestFormerLedgers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	unpackFormer(t, w.dir)
	if err := os.CopyFS(filepath.Join(w.dir, "data"), os.DirFS("../../examples/data")); err != nil {
		t.Fatal(err)
	}
	for _, name := range tier.Some(formerJobs, 5) {
		t.Run(name, func(t *testing.T) {
			w := *w
			folder, base := filepath.Split(name)
			ledger := "sqlite:" + filepath.Join(folder, "dprelease.db")
			if folder == "postgres/" {
				w.ledger = restoreFormer(t, filepath.Join(w.dir, folder, "ledger.sql"))
				ledger = w.ledger
			}
			spells := []string{"../data/"}
			if folder == "schools/" {
				spells = append(spells, "./../data/", w.dir+"/data/")
			}
			for i, spelled := range spells {
				path, out := respelled(t, w.dir, name, spelled)
				w.must(t, 0, "already released: nothing was drawn and nothing was debited", "run", path)
				sameSums(t, filepath.Join(w.dir, folder, base+".sums"), filepath.Join(w.dir, folder, out))
				if i == 0 {
					w.must(t, 0, "this plan was released before", "plan", path)
				}
				if err := os.RemoveAll(filepath.Join(w.dir, folder, out)); err != nil {
					t.Fatal(err)
				}
			}
			var shown struct {
				Accounts []struct{ Debits int }
			}
			want := 1
			if folder == "panel/" {
				want = 2
			}
			if err := json.Unmarshal([]byte(w.must(t, 0, "", "ledger", "show", "--json", ledger)), &shown); err != nil || len(shown.Accounts) != 1 || shown.Accounts[0].Debits != want {
				t.Errorf("%+v, %v", shown, err)
			}
			w.must(t, 0, "agree", "ledger", "verify", ledger)
		})
	}
}

// The columns that an account of an earlier version keeps are those that its releases
// relied on: the multistage job of the schools kept the district of a school.
func TestFormerAccountsKeepColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	unpackFormer(t, w.dir)
	if err := os.CopyFS(filepath.Join(w.dir, "data"), os.DirFS("../../examples/data")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][]string{"schools": {"county", "district"}, "panel": nil, "counts": nil} {
		w.must(t, 0, "already released", "run", filepath.Join(folder, "job.yaml"))
		var shown struct {
			Accounts []struct{ Keeps []string }
		}
		if err := json.Unmarshal([]byte(w.must(t, 0, "", "ledger", "show", "--json", "sqlite:"+folder+"/dprelease.db")), &shown); err != nil ||
			len(shown.Accounts) != 1 || fmt.Sprint(shown.Accounts[0].Keeps) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v", folder, shown, err)
		}
	}
}

func unpackFormer(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open("testdata/former/former.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// restoreFormer puts a dump into a schema of its own.
func restoreFormer(t *testing.T, dump string) string {
	t.Helper()
	at := postgrestest.New(t)
	b, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(at, "search_path=")
	if err := postgrestest.Shared(t).Exec(strings.ReplaceAll(string(b), "public.dprelease_", schema+".dprelease_")); err != nil {
		t.Fatal(err)
	}
	return at
}

// respelled writes a job that names its table otherwise, and returns it with its output
// folder.
func respelled(t *testing.T, dir, name, data string) (path, out string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("source: {path: ../data/")) {
		t.Fatal("the job names no table")
	}
	_, rest, _ := strings.Cut(string(text), "output: {dir: ")
	out, _, _ = strings.Cut(rest, ",")
	path = filepath.Join(filepath.Dir(name), "respelled.yaml")
	s := strings.NewReplacer("source: {path: ../data/", "source: {path: "+data, "${LEDGER}", "${WORLD_LEDGER}").Replace(string(text))
	if err := os.WriteFile(filepath.Join(dir, path), []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, strings.TrimRight(out, "}\n")
}

// sameSums holds a folder to the output of sha256sum.
func sameSums(t *testing.T, sums, dir string) {
	t.Helper()
	want, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(want)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(&got, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	}
	if got.String() != string(want) || len(files(t, dir)) != strings.Count(string(want), "\n") {
		t.Errorf("%s: got\n%swant\n%s", dir, got.String(), want)
	}
}
