package ledger

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/step"
)

// panel is the draw that these tests keep.
var panel = privacy.WithoutReplacement{Take: 2, Of: 20}

func sampleID(n int) string { return fmt.Sprintf("%032x", n) }

// keeping asks to draw a sample, to spend eps on it, and to keep it.
func keeping(plan, id string, eps, delta float64) Request {
	q := request(plan, 0)
	q.Opening.Limit = limit("4", "1/100")
	q.Steps = []Step{{Node: id, Begins: KindDraw, Draw: panel, Begin: Begin{Name: "panel", Facts: `{"kind":"srswor"}`}, Does: step.Event{Bill: spending(eps, delta)}}}
	q.Charged = privacy.Point{Epsilon: eps, Delta: 2 * delta}
	return q
}

// keptBefore turns a request that begins a sample into one that uses it, after so many uses.
func keptBefore(q Request, uses int64) Request {
	s := q.Steps[0]
	q.Steps = []Step{{Node: s.Node, Seen: uses, Does: s.Does}}
	return q
}

// spending is the bill of (ε, δ) on a sample.
func spending(eps, delta float64) privacy.Bill {
	return privacy.Bill{Event: privacy.Approx{Eps: eps, Delta: delta}, Delta: delta}
}

// using asks to spend eps on a sample in its present state.
func using(t testing.TB, l *Ledger, plan, id string, eps, delta float64) Request {
	t.Helper()
	n, err := l.Node(background, id)
	if err != nil || n == nil {
		t.Fatalf("sample %v, %v", n, err)
	}
	return keptBefore(keeping(plan, id, eps, delta), n.Uses)
}

// secret stands for the rows of a draw.
var secret = []byte("rows 3 and 14, and nobody is to know")

func sealKept(t testing.TB, l *Ledger, k *Ticket, id string) {
	t.Helper()
	if err := l.Seal(background, k, "c", someFiles, Rows{Sample: id, Content: "whole", Data: secret}); err != nil {
		t.Fatal(err)
	}
}

// amplified returns the cost of a draw in all.
func amplified(t testing.TB, spent float64) *big.Rat {
	t.Helper()
	r, err := privacy.NewReuse(panel, privacy.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.Epsilon(spent)
	if err != nil {
		t.Fatal(err)
	}
	return new(big.Rat).SetFloat64(e)
}

// The life of a kept sample: drawn and paid for, usable once its rows are stored
// with the release, and charged the difference by every later job (P4).
func TestLifeOfAKeptSample(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l, other := open(t, at), open(t, at)
		id := sampleID(1)
		k := debit(t, l, keeping("p", id, 1, 0))
		if len(k.Steps) != 1 || k.Steps[0].After.Charged.Epsilon.Cmp(amplified(t, 1)) != 0 || k.Cost[0].Cmp(amplified(t, 1)) != 0 {
			t.Fatalf("steps %+v, cost %v", k.Steps[0], k.Cost)
		}
		if _, err := other.Debit(background, using(t, other, "q", id, 1, 0)); codeOf(err) != CodeSample {
			t.Fatalf("used before it was stored: %v", err)
		}
		if _, err := other.Rows(background, id); codeOf(err) != CodeSample {
			t.Fatalf("opened before it was stored: %v", err)
		}
		for _, rows := range [][]Rows{nil, {{Sample: sampleID(2), Content: "whole"}}, {{Sample: id}}, {{Sample: id, Content: "w"}, {Sample: id, Content: "w"}}} {
			if err := l.Seal(background, k, "c", someFiles, rows...); codeOf(err) != CodeSample {
				t.Fatalf("sealed with rows %v: %v", rows, err)
			}
		}
		sealKept(t, l, k, id)
		if got, err := other.Rows(background, id); err != nil || !bytes.Equal(got, secret) {
			t.Fatalf("rows %q, %v", got, err)
		}
		k2 := debit(t, other, using(t, other, "q", id, 1.5, 1e-6))
		total := amplified(t, 2.5)
		if u := k2.Steps[0]; u.Before.Spent.Epsilon.Cmp(big.NewRat(1, 1)) != 0 || u.After.Charged.Epsilon.Cmp(total) != 0 || u.Adds().Epsilon.Cmp(k2.Cost[0]) != 0 {
			t.Errorf("use %+v", u)
		}
		if k2.Cost[1].Cmp(new(big.Rat).SetFloat64(2e-6*0.2)) < 0 { // twice the posterior, which is above 0.1·e/(1+0.1(e−1)) > 0.2
			t.Errorf("δ %v", k2.Cost[1])
		}
		a, err := l.Account(background, people)
		if err != nil || a.Spent[0].Cmp(total) != 0 {
			t.Errorf("spent %v, want %v, %v", a.Spent, total, err)
		}
		// Separately amplified, the two would have cost less: the trap of P4.
		if apart := new(big.Rat).Add(amplified(t, 1), amplified(t, 1.5)); apart.Cmp(total) >= 0 {
			t.Error("the test shows nothing")
		}
		all, err := l.Nodes(background, a.ID)
		if err != nil || len(all) != 1 || all[0].Uses != 2 || !all[0].Open || all[0].Name != "panel" {
			t.Errorf("samples %+v, %v", all, err)
		}
		spends, err := l.Spends(background, 0)
		if err != nil || len(spends) != 2 || spends[1].Steps[0].Node != id || spends[1].Epsilon <= 0 {
			t.Errorf("spends %+v, %v", spends, err)
		}
		verified(t, l)
	})
}

// What cannot be used is refused and costs nothing; a plan that is overtaken is
// made again.
func TestKeptSampleRefusals(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		id := sampleID(1)
		sealKept(t, l, debit(t, l, keeping("p", id, 1, 0)), id)
		good := func() Request { return using(t, l, "q", id, 0.5, 0) }
		for name, c := range map[string]struct {
			change func(q *Request)
			code   string
		}{
			"unknown":       {func(q *Request) { q.Steps[0].Node = sampleID(9) }, CodeSample},
			"drawn again":   {func(q *Request) { *q = keeping("q", id, 0.5, 0) }, CodeSample},
			"twice":         {func(q *Request) { q.Steps = append(q.Steps, q.Steps[0]) }, CodeSample},
			"other account": {func(q *Request) { q.Account.Dataset = "others" }, CodeSample},
			"negative":      {func(q *Request) { q.Steps[0].Does.Bill = spending(-1, 0) }, CodeBill},
			"too much":      {func(q *Request) { q.Steps[0].Does.Bill, q.Charged.Epsilon = spending(20, 0), 20 }, CodeExhausted},
			"a whole table": {func(q *Request) { *q = keeping("q", sampleID(8), 1, 0); q.Steps[0].Draw = nil }, CodeSample},
			"two stages with δ": {func(q *Request) {
				*q = keeping("q", sampleID(7), 1, 1e-9)
				q.Steps[0].Draw = privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}, {Take: 1, Of: 2}}}
			}, CodeFilter},
		} {
			q := good()
			c.change(&q)
			if _, err := l.Debit(background, q); codeOf(err) != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		q := good()
		q.Steps[0].Seen--
		if s, err := asking(l, q); err != nil || !s.Moved || s.Ticket != nil {
			t.Errorf("overtaken: %+v, %v", s, err)
		}
		if a, err := l.Account(background, people); err != nil || a.Debits != 1 {
			t.Errorf("account %+v, %v", a, err)
		}
		verified(t, l)
	})
}

// Of several kept samples any one that has moved makes the job plan again, wherever it stands among them, and so does a table of
// which another job said first that it is a sample.
func TestAnyKeptSampleThatMoved(t *testing.T) {
	onOne(t, func(t *testing.T, at string) {
		l := open(t, at)
		var steps []Step
		for n := range 3 {
			id := sampleID(n + 1)
			sealKept(t, l, debit(t, l, keeping(fmt.Sprint("p", n), id, 0.25, 0)), id)
			steps = append(steps, using(t, l, "q", id, 0.25, 0).Steps[0])
		}
		for moved := range steps {
			for how, change := range map[string]func(*Step){
				"was used": func(s *Step) { s.Seen-- },
				"was collected by": func(s *Step) {
					s.Begins, s.Draw, s.Seen = KindCollected, panel, 0
				},
			} {
				q := keeping("q", sampleID(1), 0.25, 0)
				q.Steps = slices.Clone(steps)
				change(&q.Steps[moved])
				if s, err := asking(l, q); err != nil || !s.Moved || s.Ticket != nil {
					t.Errorf("draw %d of 3 %s another job: %+v, %v", moved+1, how, s, err)
				}
			}
		}
		q := keeping("q", sampleID(1), 0.25, 0)
		q.Steps, q.Charged.Epsilon = steps, 0.75
		debit(t, l, q) // none has moved
		verified(t, l)
	})
}

// Many jobs that use one sample at once add up to what the draw costs in all.
func TestKeptSampleAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		first := open(t, at)
		id := sampleID(1)
		sealKept(t, first, debit(t, first, keeping("p", id, 0.25, 0)), id)
		const workers, jobs = 4, 5
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				l, err := Open(background, address(t, at), Options{})
				if err != nil {
					t.Error(err)
					return
				}
				defer l.Close()
				for i := 0; i < jobs; {
					n, err := l.Node(background, id)
					if err != nil {
						t.Error(err)
						return
					}
					q := keptBefore(keeping(fmt.Sprint(w, "-", i), id, 0.125, 1e-9), n.Uses)
					got, err := asking(l, q)
					switch {
					case err != nil:
						t.Error(err)
						return
					case !got.Moved:
						i++
					}
				}
			})
		}
		wg.Wait()
		a, err := first.Account(background, people)
		if want := amplified(t, 0.25+workers*jobs*0.125); err != nil || a.Spent[0].Cmp(want) != 0 || a.Debits != 1+workers*jobs {
			t.Errorf("spent %v, want %v, %v", a.Spent, want, err)
		}
		verified(t, first)
	})
}

// Other filters are charged the whole of every pure step, and refuse a δ.
func TestKeptSampleFilters(t *testing.T) {
	for _, o := range []Opening{{Filter: ZCDP, Limit: limit("8", "1/1000")}, {Filter: RDP, Orders: []float64{2, 8, 32}, Limit: limit("8", "1/1000")}} {
		l := open(t, "sqlite:"+testdir.New(t)+"/ledger.db")
		if _, err := l.OpenAccount(background, people, o); err != nil {
			t.Fatal(err)
		}
		id := sampleID(1)
		k := debit(t, l, keeping("p", id, 1, 0))
		sealKept(t, l, k, id)
		k2 := debit(t, l, using(t, l, "q", id, 1, 0))
		f, _ := amplified(t, 2).Float64()
		orders := map[string][]float64{ZCDP: {1}, RDP: o.Orders}[o.Filter]
		for i, alpha := range orders {
			want := alpha * f * f / 2
			if got, _ := k2.Cost[i].Float64(); got < want || got > want*(1+1e-12) {
				t.Errorf("%s %g: costs %g, want %g", o.Filter, alpha, got, want)
			}
		}
		if _, err := l.Debit(background, using(t, l, "r", id, 1, 1e-6)); codeOf(err) != CodeFilter {
			t.Errorf("%s: a δ: %v", o.Filter, err)
		}
		verified(t, l)
	}
}

// Stored rows that were changed, or put in the place of others, are not opened, and
// are found; they are in no export.
func TestKeptRowsAreSealed(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		for i := range 3 {
			sealKept(t, l, debit(t, l, keeping(fmt.Sprint("p", i), sampleID(i), 0.5, 0)), sampleID(i))
		}
		var sealed []byte
		db := rawDB(t, at)
		if err := db.QueryRow("SELECT sealed FROM dprelease_nodes WHERE id = '" + sampleID(0) + "'").Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(sealed, secret[:6]) || len(sealed) < 4096 {
			t.Error("the rows are not concealed")
		}
		if err := l.Records(background, func(r Record) error {
			if strings.Contains(r.Body, "nobody") {
				t.Error("the chain holds rows")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		l.Close()
		for _, s := range []string{
			// Another sample's rows, with their digest: only the cipher notices.
			restated("nodes", `"Digest":"`+digestOf(sealed)+`"`) + ", sealed = (SELECT sealed FROM dprelease_nodes WHERE id = '" + sampleID(0) + "') WHERE id = '" + sampleID(1) + "'",
			"UPDATE dprelease_nodes SET state = REPLACE(state, 'srswor', 'x') WHERE id = '" + sampleID(2) + "'",
			"UPDATE dprelease_nodes SET sealed = NULL WHERE id = '" + sampleID(0) + "'",
		} {
			if _, err := db.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
		l = open(t, at)
		for i := range 3 {
			if _, err := l.Rows(background, sampleID(i)); codeOf(err) != CodeTampered {
				t.Errorf("sample %d: %v", i, err)
			}
		}
		v, err := l.Verify(background, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found := joined(v.Findings()); strings.Count(found, "sample 0000") != 3 || !strings.Contains(found, FoundStored) || !strings.Contains(found, FoundTables) {
			t.Errorf("found %q", found)
		}
	})
}

// A chain that charges a sample less than its releases cost together is found, even
// where its hashes are right.
func TestAuditOfKeptSamples(t *testing.T) {
	l := open(t, "sqlite:"+testdir.New(t)+"/ledger.db")
	id := sampleID(1)
	sealKept(t, l, debit(t, l, keeping("p", id, 1, 0)), id)
	k := debit(t, l, using(t, l, "q", id, 1, 0))
	if err := l.Seal(background, k, "c", someFiles); err != nil {
		t.Fatal(err)
	}
	apart := amplified(t, 1).RatString()
	together := k.Cost[0].RatString()
	for name, c := range map[string]struct{ kind, old, new, finds string }{
		"nothing":          {"", "", "", ""},
		"too little":       {"debit", together, apart, FoundOverspent},
		"a smaller step":   {"debit", `"spends":{"epsilon":"1"`, `"spends":{"epsilon":"-1"`, FoundBody},
		"an unknown draw":  {"debit", `"node":"` + id, `"node":"` + sampleID(3), FoundBody},
		"no rows":          {"seal", `,"samples":[`, `,"samples":null,"files":[`, FoundBody},
		"rows of nothing":  {"seal", `"sample":"` + id, `"sample":"` + sampleID(3), FoundBody},
		"another design":   {"debit", `\"n\":2`, `\"n\":19`, FoundOverspent},
		"a draw of a draw": {"debit", `"spends":`, `"begins":"draw","event":"{}","spends":`, FoundBody},
	} {
		found, changed := audited(t, l, c.kind, c.old, c.new)
		if changed != (c.kind != "") || c.finds == "" && found != "" || c.finds != "" && !strings.Contains(found, c.finds+":") {
			t.Errorf("%s: changed %v, found %q, want %q", name, changed, found, c.finds)
		}
	}
}

// A table that is itself a sample is one draw for all jobs of the account: they are
// charged what they cost together, and none may treat it otherwise.
func TestCollectedIsOneDraw(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l, other := open(t, at), open(t, at)
		id := CollectedID(people)
		first := func(plan string) Request {
			q := keeping(plan, id, 1, 0)
			q.Steps[0].Begins = KindCollected
			return q
		}
		k := debit(t, l, first("p"))
		if s, err := asking(other, first("q")); err != nil || !s.Moved {
			t.Fatalf("first as well: %+v, %v", s, err)
		}
		debit(t, other, using(t, other, "q", id, 1, 0))
		if err := l.Seal(background, k, "c", someFiles); err != nil {
			t.Fatal(err)
		}
		a, err := l.Account(background, people)
		if err != nil || a.Spent[0].Cmp(amplified(t, 2)) != 0 {
			t.Errorf("spent %v, %v", a.Spent, err)
		}
		if _, err := l.Debit(background, request("r", 0.1)); codeOf(err) != CodeSample {
			t.Errorf("a job that treats it as the population: %v", err)
		}
		if _, err := l.Rows(background, id); codeOf(err) != CodeSample {
			t.Errorf("rows of it: %v", err)
		}
		q := request("other", 0.1)
		q.Account.Dataset = "others"
		debit(t, l, q)
		q = first("late")
		q.Account.Dataset = "others"
		q.Steps[0].Node = CollectedID(q.Account)
		if _, err := l.Debit(background, q); codeOf(err) != CodeSample {
			t.Errorf("a job that treats a population as collected: %v", err)
		}
		verified(t, l)
	})
}
