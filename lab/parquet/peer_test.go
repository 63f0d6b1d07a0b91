package parquet

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// TestPeers: pyarrow and DuckDB read what the tests' writer writes, and what they write of it, in their own encodings, is read
// here. A program that is missing is left out, visibly.
func TestPeers(t *testing.T) {
	for name, x := range map[string]struct{ have, run []string }{
		"pyarrow": {[]string{"python3", "-c", "import pyarrow"}, []string{"python3", "peer.py"}},
		"duckdb":  {[]string{"node", "-e", "import('@duckdb/node-api')"}, []string{"node", "peer.mjs"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := exec.Command(x.have[0], x.have[1:]...).Run(); err != nil {
				t.Skipf("%s is missing: npm install --no-save in lab, pip install pyarrow", name)
			}
			for _, nulls := range []bool{false, true} {
				const present = 20_000
				rows, valid := present, []bool(nil)
				r := rand.New(rand.NewPCG(6, 6))
				for there := 0; nulls && there < present; {
					ok := r.IntN(5) > 0
					if valid = append(valid, ok); ok {
						there++
					}
					rows = len(valid)
				}
				all := encodings(present, r)
				if name == "duckdb" { // which has this encoding of floats alone
					all = slices.DeleteFunc(all, func(c column) bool {
						return c.encoding == parquet.Encodings.ByteStreamSplit && (c.typ == parquet.Types.Int32 || c.typ == parquet.Types.Int64)
					})
				}
				for i := range all {
					all[i].name = all[i].name[:len(all[i].name)-len(all[i].encoding.String())] + " " + all[i].encoding.String()
				}
				source, target := filepath.Join(t.TempDir(), "a.parquet"), filepath.Join(t.TempDir(), "b.parquet")
				must(0, os.WriteFile(source, testkit(style{codec: compress.Codecs.Snappy, nulls: nulls, pageSize: 5000}, all, valid, rows), 0o600))
				if out, err := exec.Command(x.run[0], append(x.run[1:], source, target)...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				read(t, must(os.ReadFile(target)), all, valid, rows)
			}
		})
	}
}
