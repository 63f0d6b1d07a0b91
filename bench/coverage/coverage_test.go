package main

import (
	"encoding/json"
	"fmt"
	"testing"
)

// A short study of a table by each design: no interval holds less often than luck allows. The
// twin forgets the draw and takes the noise alone for the whole error, and is far below.
func TestIntervalsHold(t *testing.T) {
	all, err := populations("../../examples/data")
	if err != nil {
		t.Fatal(err)
	}
	p := all[0]
	p.releases = append(p.releases[:7:7], p.releases[len(p.releases)-2])
	const draws = 60
	for _, design := range designs {
		f, err := p.study(t.Context(), design, draws, nil)
		if err != nil {
			t.Fatal(err)
		}
		least := level - luck(level, draws, 100*len(f)) // a false alarm in 2000 runs
		for _, x := range f {
			if x.share() < least {
				t.Errorf("%s, %s %s, value %d: held in %d of %d draws", design, x.release.mechanism, x.release.params, x.row, x.held, x.drawn)
			}
		}
		if design == "table" || testing.Short() && design != "srswor" {
			continue
		}
		forgets, err := p.study(t.Context(), design, draws, func(raw json.RawMessage) json.RawMessage {
			var all map[string]any
			if err := json.Unmarshal(raw, &all); err != nil {
				t.Fatal(err)
			}
			all["interval"] = map[string]any{"level": 95}
			out, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			return out
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := forgets[0].share(); got > least {
			t.Errorf("%s: an interval without the draw holds in %v of the draws", design, fmt.Sprint(got))
		}
	}
}
