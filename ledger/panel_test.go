package ledger

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
)

// waveOf asks to release a wave of a panel of four; a unit that is known to be in a wave pays more for it than others for all.
func waveOf(plan string, wave int64, eps float64) Request {
	q := request(plan, eps)
	q.Account.Relation, q.Opening.Limit = privacy.AddRemove, limit("4", "1/100")
	noise := privacy.Gaussian{Sigma: 3 / eps}
	q = billed(q, privacy.Rotation{Waves: 4, In: 1, Event: noise}, 1e-6)
	s := &q.Steps[0]
	s.Node, s.Begins, s.Does.At = PanelID(q.Account, "", false), KindPanel, wave
	return q
}

// seen tells a request how often its panel was debited, and what its wave costs units that are known to be in it, if that is
// debited once more.
func seen(uses int64, q Request) Request {
	q.Steps[0].Seen = uses
	return q
}

func knownWave(q Request) Request {
	b := q.Steps[0].Does.Bill
	q.Charged = priceOf(privacy.Bill{Event: b.Event.(privacy.Rotation).Event, Delta: b.Delta}, q.Account.Relation)
	return q
}

func named(q Request, name string, drawn bool) Request {
	s := &q.Steps[0]
	s.Name, s.Node, s.Secret = name, PanelID(q.Account, name, drawn), drawn
	return q
}

// The first wave pays for all, in whatever order they come. A wave that comes twice pays as
// if everybody knew who is in it, and other releases in a wave are refused (P34).
func TestPanels(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		costs := func(q Request, want float64) *Ticket {
			t.Helper()
			k := debit(t, l, q)
			if k.Cost[0].Cmp(new(big.Rat).SetFloat64(want)) != 0 {
				t.Errorf("wave %d costs %v, want %g", q.Steps[0].Does.At, k.Cost[0], want)
			}
			return k
		}
		seal := func(k *Ticket) {
			t.Helper()
			if err := l.Seal(background, k, "c", someFiles); err != nil {
				t.Fatal(err)
			}
		}
		first := waveOf("p3", 3, 1)
		all, known := first.Charged.Epsilon, knownWave(first).Charged.Epsilon
		seal(costs(first, all))
		seal(costs(seen(1, waveOf("p1", 1, 1)), 0))
		k := costs(seen(2, waveOf("p2", 2, 1)), 0)
		if err := l.End(background, k, nil); err != nil {
			t.Fatal(err)
		}
		// The run of wave 2 was cut off: what it drew may have been seen.
		again := seen(3, knownWave(waveOf("p2", 2, 1)))
		if s, err := asking(l, again); err == nil && s.Ticket != nil {
			t.Error("a run that was cut off was debited again unasked")
		}
		again.Again = true
		seal(costs(again, known))
		n, err := l.Node(background, PanelID(again.Account, "", false))
		if spent := new(big.Rat).SetFloat64(all); err != nil || !slices.Equal(n.Done, []int64{1, 2, 3}) || n.Uses != 4 || n.Charged.Epsilon.Cmp(spent.Add(spent, new(big.Rat).SetFloat64(known))) != 0 {
			t.Errorf("%+v, %v", n, err)
		}
		// A plan that knows of fewer waves is made again.
		if s, err := asking(l, seen(3, waveOf("x", 4, 1))); err != nil || !s.Moved {
			t.Errorf("a panel that moved: %+v, %v", s, err)
		}
		// Another event in a wave is another panel, and the allotment is the same.
		for _, other := range []Request{seen(4, waveOf("x", 4, 0.5)), seen(4, waveOf("y", 3, 0.5))} {
			if _, err := l.Debit(background, other); codeOf(err) != CodePinned || !strings.Contains(err.Error(), "what is released in each") {
				t.Errorf("other releases in a wave: %v", err)
			}
		}
		// Units that were allotted anew pay again.
		seal(costs(named(waveOf("s", 1, 1), "second", false), all))
		// All waves of two panels, and one known wave, are spent.
		if _, err := l.Debit(background, seen(4, knownWave(waveOf("o", 3, 1)))); codeOf(err) != CodeExhausted {
			t.Errorf("a wave twice beyond the limit: %v", err)
		}
		seal(costs(seen(4, waveOf("p4", 4, 1)), 0))
		verified(t, l)
		// A table is either a wave or collected by another draw.
		q := keeping("k", CollectedID(again.Account), 0.1, 0)
		q.Account = again.Account
		q.Steps[0].Draw, q.Steps[0].Begins = privacy.Poisson{Rate: 0.1}, KindCollected
		if _, err := l.Debit(background, q); codeOf(err) != CodeSample {
			t.Errorf("a wave that is also a Poisson sample: %v", err)
		}
	})
}

// The state of a panel follows from the chain: a wave that is taken out of the table is found.
func TestPanelIsTampered(t *testing.T) {
	at := "sqlite:" + testdir.New(t) + "/l.db"
	l := open(t, at)
	debit(t, l, waveOf("p", 1, 1))
	if _, err := rawDB(t, at).Exec(restated("nodes", `"Done":null`)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Debit(background, seen(1, waveOf("q", 1, 1))); codeOf(err) != CodeTampered {
		t.Errorf("a wave was taken out of the table: %v", err)
	}
}

// A chain that charges a panel less than its waves cost is found, even where its hashes are right: all waves for less, or a
// wave once more for nothing.
func TestAuditOfPanels(t *testing.T) {
	l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
	q := waveOf("p", 1, 1)
	debitOne(l, q)
	known := knownWave(seen(1, waveOf("again", 1, 1)))
	debitOne(l, known)
	text := func(x float64) string { return `"` + new(big.Rat).SetFloat64(x).RatString() + `"` }
	all := new(big.Rat).SetFloat64(q.Charged.Epsilon)
	both := `"` + all.Add(all, new(big.Rat).SetFloat64(known.Charged.Epsilon)).RatString() + `"`
	for name, c := range map[string]struct{ old, new, finds string }{
		"nothing":              {"", "", ""},
		"all waves for less":   {text(q.Charged.Epsilon), `"1/64"`, FoundOverspent},
		"a wave twice for one": {both, text(q.Charged.Epsilon), FoundOverspent},
		"no wave":              {`"at":1,"charged"`, `"charged"`, FoundBody},
	} {
		found, changed := audited(t, l, "debit", c.old, c.new)
		if changed != (c.old != "") || c.finds == "" && found != "" || c.finds != "" && !strings.Contains(found, c.finds+":") {
			t.Errorf("%s: changed %v, found %q, want %q", name, changed, found, c.finds)
		}
	}
}

// drawnWave is waveOf for a panel whose units the ledger allots.
func drawnWave(plan, name string, wave int64, eps float64) Request {
	return named(waveOf(plan, wave, eps), name, true)
}

// The secret of a panel is drawn once, by the debit of its first wave, and is the same in all waves,
// also where the first run died. Another panel has another one. Closing a panel destroys it: there are
// no waves and no other secret from then on.
func TestDrawnPanelHasOneSecret(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		secret := func(name string) string {
			t.Helper()
			key, err := l.Allotment(background, PanelID(drawnWave("x", name, 1, 1).Account, name, true))
			if err != nil || len(key) != 32 {
				t.Fatalf("%x, %v", key, err)
			}
			return string(key)
		}
		k := debit(t, l, drawnWave("a3", "a", 3, 1))
		first := secret("a")
		if err := l.End(background, k, nil); err != nil { // a run that was cut off
			t.Fatal(err)
		}
		if k := debit(t, l, seen(1, drawnWave("a1", "a", 1, 1))); k.Cost[0].Sign() != 0 {
			t.Errorf("the second wave costs %v", k.Cost[0])
		}
		debit(t, l, drawnWave("b1", "b", 1, 1))
		if secret("a") != first || secret("b") == first {
			t.Error("the secret of a panel changed, or two panels have one")
		}
		// One that somebody else drew is another panel of that name, without a secret.
		other := named(waveOf("o", 1, 1), "a", false)
		debit(t, l, other)
		if _, err := l.Allotment(background, other.Steps[0].Node); codeOf(err) != CodeSample {
			t.Errorf("the secret of a panel that was collected: %v", err)
		}
		verified(t, l)
		account := other.Account
		if _, err := l.ClosePanel(background, account, "a", " "); codeOf(err) != CodeLimit {
			t.Errorf("closed without a reason: %v", err)
		}
		if _, err := l.ClosePanel(background, account, "c", "none"); codeOf(err) != CodeSample {
			t.Errorf("closed a panel that is not there: %v", err)
		}
		if kept, err := l.ClosePanel(background, account, "a", "it is over"); err != nil || !strings.Contains(kept, "backups") {
			t.Fatal(kept, err)
		}
		for _, count := range []string{"dprelease_nodes WHERE sealed IS NOT NULL", "dprelease_keys"} {
			var left int
			if err := rawDB(t, at).QueryRow("SELECT COUNT(*) FROM " + count).Scan(&left); err != nil || left != 1 {
				t.Errorf("%d of %s are left, %v", left, count, err)
			}
		}
		for _, q := range []Request{seen(2, drawnWave("a2", "a", 2, 1)), seen(2, drawnWave("a1'", "a", 1, 1))} {
			if _, err := l.Debit(background, q); codeOf(err) != CodeSample || !strings.Contains(err.Error(), "closed") {
				t.Errorf("a wave of a closed panel: %v", err)
			}
		}
		if _, err := l.Allotment(background, PanelID(account, "a", true)); codeOf(err) != CodeSample {
			t.Errorf("the secret of a closed panel: %v", err)
		}
		n, err := l.Node(background, PanelID(account, "a", true))
		if err != nil {
			t.Fatal(err)
		}
		q := seen(2, drawnWave("a2", "a", 2, 1))
		if _, err := Unopened(account, q.Opening).Price(&q, map[string]*Node{n.ID: n}); codeOf(err) != CodeSample || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a plan of a wave of a closed panel: %v", err)
		}
		before, err := l.Clock(background)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.ClosePanel(background, account, "a", "again")
		if after, _ := l.Clock(background); err != nil || after.Record != before.Record {
			t.Errorf("closed twice: record %d, %v", after.Record, err)
		}
		secret("b")
		verified(t, l)
	})
}

// A panel does not stand beside samples that are kept, whichever was first.
func TestPanelsAndKeptSamples(t *testing.T) {
	l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
	q := drawnWave("p", "a", 1, 1)
	kept := keeping("k", "11111111111111111111111111111111", 0.1, 0)
	kept.Account, kept.Opening.Limit = q.Account, q.Opening.Limit
	kept.Steps[0].Draw = privacy.Poisson{Rate: 0.1}
	debit(t, l, kept)
	if _, err := l.Debit(background, q); codeOf(err) != CodeSample || !strings.Contains(err.Error(), "kept a sample") {
		t.Errorf("a panel after a kept sample: %v", err)
	}
}

// A secret that was replaced, taken away or put back is found before anything is drawn.
func TestSecretOfAPanelIsTampered(t *testing.T) {
	at := "sqlite:" + testdir.New(t) + "/l.db"
	l, q := open(t, at), drawnWave("p", "a", 1, 1)
	debit(t, l, q)
	debit(t, l, drawnWave("o", "b", 1, 1))
	if _, err := rawDB(t, at).Exec(`UPDATE dprelease_nodes SET sealed = (SELECT sealed FROM dprelease_nodes WHERE state LIKE '%"name":"b"%') WHERE state LIKE '%"name":"a"%'`); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Allotment(background, q.Steps[0].Node); codeOf(err) != CodeTampered {
		t.Errorf("the secret of another panel: %v", err)
	}
	for _, swap := range []string{"UPDATE dprelease_keys SET own = '00' WHERE node = '" + PanelID(q.Account, "b", true) + "'", "DELETE FROM dprelease_keys"} {
		if _, err := rawDB(t, at).Exec(swap); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Allotment(background, PanelID(q.Account, "b", true)); codeOf(err) != CodeTampered {
			t.Errorf("%s: %v", swap, err)
		}
		if v, err := l.Verify(background, nil); err != nil || !strings.Contains(joined(v.Findings()), "keys") {
			t.Errorf("verify finds nothing after %s: %v", swap, err)
		}
	}
	if _, err := rawDB(t, at).Exec(restated("nodes", `"Digest":""`) + `, sealed = NULL WHERE state LIKE '%"name":"a"%'`); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Debit(background, seen(1, drawnWave("p2", "a", 2, 1))); codeOf(err) != CodeTampered {
		t.Errorf("a wave without the secret: %v", err)
	}
}

// A file has one allotment, whatever its panel is called: two names for it would pay as if units had been allotted anew, where all
// of it is amplified once (P36). One panel of another file, and a panel of the ledger's own, are allotted anew.
func TestOneAllotmentUnderTwoNames(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		column := func(name, digest string) Column { return Column{Name: name, Tag: l.Tag(name, 10), Digest: digest} }
		ask := func(plan, name string, wave int64, columns ...Column) (Standing, error) {
			q := named(waveOf(plan, wave, 0.1), name, false)
			if wave > 1 {
				q = seen(1, q)
			}
			q.Columns, q.Job = columns, plan
			if columns[0].Digest != "" {
				q.Content = plan
			}
			return asking(l, q)
		}
		seal := func(plan, name string, wave int64, columns ...Column) {
			t.Helper()
			s, err := ask(plan, name, wave, columns...)
			if err != nil || s.Ticket == nil {
				t.Fatalf("%s: %+v, %v", plan, s, err)
			}
			if err := l.Seal(background, s.Ticket, plan, someFiles); err != nil {
				t.Fatal(err)
			}
		}
		seal("first", "a", 1, column("household", "h"), column("size", "s"))
		seal("second wave", "a", 2, column("household", "h"), column("size", "s"))
		seal("another file", "b", 1, column("household", "other"))
		if s, err := ask("unknown", "c", 1, column("household", ""), column("income", "")); err != nil || !s.Compare {
			t.Errorf("as many rows: %+v, %v", s, err)
		}
		_, err := ask("renamed", "c", 1, column("household", "h"), column("income", "i"))
		if codeOf(err) != CodeSame || !strings.Contains(err.Error(), "use its panel: NAME") {
			t.Errorf("the same file: %v", err)
		}
		key := waveOf("", 1, 1).Account
		if err := l.SeparateSlices(background, key, "units were allotted anew, and the file says the same of them"); err != nil {
			t.Fatal(err)
		}
		seal("meant", "c", 1, column("household", "h"), column("income", "i"))
		verified(t, l)
	})
}
