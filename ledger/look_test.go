package ledger

import (
	"reflect"
	"strings"
	"testing"
)

// A look is known by its data set, under any relation; it needs no account and opens none,
// and changes nothing that is spent.
func TestLooks(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		first := PrivateLook{Job: "job", By: "me", Columns: map[string]string{"age": strings.Repeat("a", 64)}}
		second := PrivateLook{Job: "other", By: "me", Columns: map[string]string{"sex": strings.Repeat("b", 64)}}
		k := people
		if err := l.RecordLook(background, k, first); err != nil {
			t.Fatal(err)
		}
		elsewhere := k
		elsewhere.Dataset += "-2"
		for _, r := range []struct {
			k Key
			p PrivateLook
		}{{k, second}, {elsewhere, first}} {
			if err := l.RecordLook(background, r.k, r.p); err != nil {
				t.Fatal(err)
			}
		}
		got, err := l.Looks(background, k.Dataset)
		if err != nil || !reflect.DeepEqual(got, []PrivateLook{first, second}) {
			t.Errorf("the looks are %+v (%v)", got, err)
		}
		if a, err := l.Account(background, k); err != nil || a != nil {
			t.Errorf("a look opened the account %v (%v)", a, err)
		}
		v, err := l.Verify(background, nil)
		if err != nil || len(v.Findings()) > 0 {
			t.Errorf("verify finds %v (%v)", v, err)
		}
	})
}

// A record of a look that holds anything more is found: it could be what was seen (P19).
func TestLookHoldsNothingSeen(t *testing.T) {
	for body, want := range map[string]string{
		`{"at":"2026-01-02T03:04:05.000000Z","dataset":"d","unit":"row","relation":"add-remove","job":"j","by":"b","columns":{"x":"0"}}`:          "",
		`{"at":"2026-01-02T03:04:05.000000Z","dataset":"d","unit":"row","relation":"add-remove","job":"j","by":"b","columns":{"x":"0"},"rows":7}`: "cannot be read as a look",
		`{"at":"2026-01-02T03:04:05.000000Z","dataset":"","unit":"row","relation":"add-remove","job":"j","by":"b","columns":{"x":"0"}}`:           "a look at nothing",
	} {
		v := NewAuditor()
		body = strings.TrimSuffix(body, "}") + `,"state":""}`
		err := v.replay(&Record{Seq: 2, Kind: "look", Body: body})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
