package ledger

import (
	"database/sql/driver"
	"math/big"
	"strings"
	"syscall"
	"testing"

	"github.com/dprelease/dprelease/privacy/rational"
)

// panelLife draws and keeps a sample, and then uses it in a second job; an earlier
// attempt may have got anywhere. It returns what it made visible: for each sample
// that a release stood on, what was spent on it by then.
func panelLife(t testing.TB, at string, f *fault, again bool) (shown map[string]*big.Rat, err error) {
	o := Options{Create: true}
	if f != nil {
		faulty(f)(&o)
	}
	shown = map[string]*big.Rat{}
	l, err := Open(background, address(t, at), o)
	if err != nil {
		return shown, err
	}
	defer l.Close()
	// The first job: its sample has the id of its attempt.
	samples, err := l.Nodes(background, 0)
	if err != nil {
		return shown, err
	}
	q := keeping("first", sampleID(100+len(samples)), 0.5, 0)
	q.Again = again
	id, err := finish(l, q, shown)
	if err != nil {
		return shown, err
	}
	n, err := l.Node(background, id)
	if err != nil {
		return shown, err
	}
	q = keptBefore(keeping("second", id, 0.75, 0), n.Uses)
	q.Again = again
	_, err = finish(l, q, shown)
	return shown, err
}

// finish carries a job to its end and returns the sample that its release stands on.
func finish(l *Ledger, q Request, shown map[string]*big.Rat) (id string, err error) {
	s, err := asking(l, q)
	if err == nil && s.Compare {
		q.Content = "c"
		s, err = asking(l, q)
	}
	if err != nil {
		return "", err
	}
	release := int64(0)
	if s.Found != nil {
		release = s.Found.ID
	} else {
		release = s.Ticket.Release
		files := []File{{Path: "sample", Data: []byte(q.Steps[0].Node)}, {Path: "spent", Data: []byte(s.Ticket.Steps[0].After.Spent.Epsilon.RatString())}}
		var rows []Rows
		if q.Steps[0].Begins != "" {
			rows = append(rows, Rows{Sample: q.Steps[0].Node, Content: "whole", Data: secret})
		}
		if err := l.Seal(background, s.Ticket, "c", files, rows...); err != nil {
			return "", err
		}
	}
	files, err := l.Output(background, release)
	if err != nil {
		return "", err
	}
	id = string(files[0].Data)
	spent, err := rational.ParseFraction(string(files[1].Data))
	if err != nil {
		return "", err
	}
	if shown[id] == nil || shown[id].Cmp(spent) < 0 {
		shown[id] = spent // visible from here on
	}
	return id, l.Publish(background, release)
}

// Every step of the driver fails once while a sample is drawn, kept and used. At
// every moment a sample that can be used is paid for with all that is visible of
// it, its rows are those that were drawn, and the account holds what all draws cost.
func TestEveryStepOfAKeptSampleFails(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		fresh := copies(t, at)
		count := &fault{}
		if _, err := panelLife(t, fresh(), count, false); err != nil {
			t.Fatal(err)
		}
		kinds := []fault{{err: syscall.EIO}, {err: syscall.EIO, after: true}, {err: driver.ErrBadConn, after: true}}
		stride := 2
		if strings.HasPrefix(at, "postgres") {
			kinds, stride = kinds[1:2], 7
		}
		if testing.Short() {
			kinds, stride = kinds[:1], 1
		}
		failed, unusable := 0, 0
		for n := 1; n <= count.steps; n += stride {
			for _, f := range kinds {
				f.n = n
				at := fresh()
				shown, err := panelLife(t, at, &f, false)
				if err != nil {
					failed++
				}
				unusable += paidFor(t, at, shown)
				die(t, at)
				later, err := panelLife(t, at, nil, true)
				if err != nil || len(later) == 0 {
					t.Fatalf("step %d, %v: then %v, %v", n, f, later, err)
				}
				paidFor(t, at, later)
				for id, spent := range shown {
					if later[id] == nil || later[id].Cmp(spent) < 0 {
						t.Fatalf("step %d, %v: sample %s was shown, and another one later", n, f, id)
					}
				}
			}
		}
		t.Logf("%d steps, %d runs failed, %d left a sample that cannot be used", count.steps, failed, unusable)
		if failed == 0 || unusable == 0 {
			t.Error("the test shows little")
		}
	})
}

// paidFor checks the books of a ledger against what was visible, and counts the
// samples that nobody can use.
func paidFor(t testing.TB, at string, shown map[string]*big.Rat) (unusable int) {
	t.Helper()
	l := open(t, at)
	defer l.Close()
	verified(t, l)
	samples, err := l.Nodes(background, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := new(big.Rat)
	known := map[string]*Node{}
	for _, s := range samples {
		known[s.ID] = s
		spent, _ := s.Spent.Epsilon.Float64()
		if s.Charged.Epsilon.Cmp(amplified(t, spent)) != 0 {
			t.Fatalf("sample %s is charged %v", s.ID, s.Charged)
		}
		all.Add(all, s.Charged.Epsilon)
		rows, err := l.Rows(background, s.ID)
		if s.Open && (err != nil || string(rows) != string(secret)) || !s.Open && codeOf(err) != CodeSample {
			t.Fatalf("sample %s: %v", s.ID, err)
		}
		if !s.Open {
			unusable++
		}
	}
	for id, spent := range shown {
		if s := known[id]; s == nil || !s.Open || s.Spent.Epsilon.Cmp(spent) < 0 {
			t.Fatalf("sample %s was shown with %v spent on it, and the ledger says %+v", id, spent, s)
		}
	}
	a, err := l.Account(background, people)
	if err != nil {
		t.Fatal(err)
	}
	if a != nil && a.Spent[0].Cmp(new(big.Rat).Add(all, big.NewRat(1, 8))) != 0 { // another debit of copies
		t.Fatalf("spent %v, samples cost %v", a.Spent, all)
	}
	return unusable
}
