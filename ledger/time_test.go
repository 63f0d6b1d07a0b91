package ledger

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

// The chain, which others get as an export, does not tell how long a run took (P19):
// it has the time of the debit, and none of what comes after it.
func TestChainTellsNoRunTime(t *testing.T) {
	chain := func(took time.Duration) (out []string) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		l := open(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db"), func(o *Options) { o.clock = func() time.Time { return now } })
		now = now.Add(time.Minute)
		k := debit(t, l, request("p", 0.5))
		now = now.Add(took)
		if err := l.Seal(background, k, "c", someFiles); err != nil {
			t.Fatal(err)
		}
		now = now.Add(took)
		if err := l.Publish(background, k.Release); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour - 2*took)
		debit(t, l, request("q", 0.25))
		err := l.Records(background, func(r Record) error {
			var b stamp
			err := json.Unmarshal([]byte(r.Body), &b)
			out = append(out, r.Kind+" "+b.At)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if found, err := l.Verify(background, nil); err != nil || len(found.Findings()) > 0 {
			t.Errorf("verify finds %+v, %v", found, err)
		}
		return out
	}
	short, long := chain(time.Second), chain(17*time.Minute)
	if len(short) < 6 {
		t.Fatalf("the chain is %v", short)
	}
	for i, r := range short {
		if long[i] != r {
			t.Errorf("record %d: %s after a short run, %s after a long one", i+1, r, long[i])
		}
	}
	if short[len(short)-1] == short[len(short)-2] {
		t.Error("a debit has no time of its own")
	}
}
