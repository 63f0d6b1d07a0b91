package report

import (
	"cmp"
	"html/template"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
)

// account shows the account of the ledger before and after the job.
func account(w words, r *Report) document.Section {
	s := document.Section{ID: "budget", Title: w.t("budget.heading")}
	b := r.Budget
	if b == nil {
		return s
	}
	t := &document.Table{Name: w.t("budget.heading"), Caption: w.t("budget.caption", r.Dataset.ID), Named: true,
		Head: []document.Head{{Name: w.t("budget.unit")}}}
	for _, name := range []string{"budget.before", "budget.cost", "budget.after", "budget.limit", "budget.left"} {
		t.Head = append(t.Head, document.Head{Name: w.t(name), Number: true})
	}
	for _, a := range b.Amounts {
		row := []document.Cell{{Text: a.Symbol()}}
		for _, text := range []string{before(a), amount(a.Cost, true), amount(a.Spent, true), amount(a.Limit, false), left(w, a)} {
			row = append(row, document.Cell{Text: text, Number: true})
		}
		row[2].Strong = true
		t.Rows = append(t.Rows, row)
	}
	if n := len(t.Rows); b.Filter == "rdp" && n > 1 {
		t.Rows, t.More = t.Rows[:1], w.t("budget.orders", n)
	}
	s.Parts = append(s.Parts, document.Part{Table: t}, note(w.t("budget.together")))
	add := func(label, text, class string) {
		if text != "" {
			s.Parts = append(s.Parts, document.Part{Label: w.t(label), Text: text, Class: class})
		}
	}
	add("budget.account_limit", b.limit(w), document.Fact)
	if l := b.Slices; l != nil {
		add("budget.slices", w.t("budget.slices_text", l.Count, amountWords(w, b.telling(l.Largest)), amountWords(w, b.telling(l.Life))),
			document.Fact)
	}
	add("budget.filter", b.Filter, document.Fact)
	if len(b.Keeps) > 0 {
		add("budget.keeps", w.t("budget.keeps_text", strings.Join(b.Keeps, ", ")), document.Fact)
	}
	ledger := strings.TrimSpace(b.Address + " " + b.Ledger)
	if b.Ledger == "" && b.Address != "" {
		ledger += ", " + w.t("budget.not_there")
	}
	add("budget.ledger", ledger, document.Digest)
	if b.Head != "" {
		add("budget.record", w.t("budget.number", b.Sequence, b.Head), document.Digest)
	}
	if b.Note != "" {
		s.Parts = append(s.Parts, document.Part{Label: w.t("budget.note"), Text: w.note(b.Note), Class: document.Fact})
	}
	return s
}

// limit is the limit of an account.
func (b *Budget) limit(w words) string {
	text := "ε\u00a0" + amount(b.LimitEpsilon, false) + ", δ\u00a0" + amount(b.LimitDelta, false)
	if b.LimitRho != "" {
		text = "ρ\u00a0" + amount(b.LimitRho, false)
	}
	if b.Slices != nil {
		text = w.t("budget.each_slice", text)
	}
	return text
}

// telling are the amounts that a person is shown: all, or of the orders of an account in Rényi divergences the one with the
// largest share left, which stands first.
func (b *Budget) telling(all []Amount) []Amount {
	if b.Filter == "rdp" {
		return all[:min(len(all), 1)]
	}
	return all
}

// gaugeView is a budget as a bar.
type gaugeView struct {
	Picture template.HTML
	Text    string
}

// gauges show how much of the account is spent, the first amounts of it.
func (b *Budget) gauges(w words) (out []gaugeView) {
	const shown = 2
	if b == nil {
		return nil
	}
	for _, a := range b.telling(b.Amounts)[:min(len(b.telling(b.Amounts)), shown)] {
		limit, after := amount(a.Limit, false), amount(a.Spent, true)
		if limit != "0" && after != "0" {
			out = append(out, gaugeView{gauge(a), w.t("budget.gauge_text", a.Symbol(), before(a), amount(a.Cost, true), left(w, a), limit)})
		}
	}
	return out
}

// Symbol returns the sign of the unit of an amount, and its name where there is none.
func (a Amount) Symbol() string {
	return cmp.Or(map[string]string{"epsilon": "ε", "delta": "δ", "rho": "ρ"}[a.Unit], a.Unit)
}

// amountWords writes what is spent, of all units.
func amountWords(w words, all []Amount) string {
	var out []string
	for _, a := range all {
		text := a.Symbol() + "\u00a0" + amount(a.Spent, true)
		if a.Limit != "" {
			text = w.t("budget.of", text, amount(a.Limit, false))
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// amount prints an exact decimal shortly: a spend rounded up, a limit down (P17).
func amount(text string, up bool) string {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	if !up {
		x.Mul(x, keptBack)
	}
	return fourDigits(x, up)
}

// before returns the amount spent before this job.
func before(a Amount) string {
	spent, ok1 := new(big.Rat).SetString(a.Spent)
	cost, ok2 := new(big.Rat).SetString(a.Cost)
	if !ok1 || !ok2 {
		return "–"
	}
	rest := spent.Sub(spent, cost)
	if rest.Sign() <= 0 {
		return "0"
	}
	return amount(rest.RatString(), true)
}

// left returns the amount that may still be spent. Less than a millionth of the limit buys no release: it is a rounding error,
// and the budget counts as spent.
func left(w words, a Amount) string {
	rest, ok1 := new(big.Rat).SetString(a.Left)
	limit, ok2 := new(big.Rat).SetString(a.Limit)
	if ok1 && ok2 && rest.Mul(rest, big.NewRat(1_000_000, 1)).Cmp(limit) < 0 {
		return w.t("budget.spent")
	}
	return amount(a.Left, false)
}
