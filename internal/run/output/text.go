package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
)

// pointText never gives an ε without its δ (P2).
func pointText(p privacy.Point, number func(float64) string) string {
	return "ε " + number(p.Epsilon) + ", δ " + number(p.Delta)
}

// WritePlan prints what a plan costs and promises, a row for each release.
func WritePlan(w io.Writer, r *report.Report, limit ledger.Limit) error {
	b := bufio.NewWriter(w)
	writeUseless(b, r)
	writeHead(b, r)
	byName := map[string]report.Brief{}
	for _, one := range report.Briefs(r, nil) {
		byName[one.Release] = one
	}
	unknown, alone := false, false
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\n  release\tfrom\tmechanism\tcharged on the population\tnoise (95 of 100)\tverdict")
	for _, e := range r.Releases {
		one := byName[e.Name]
		noise := one.Noise
		if noise == "" {
			noise, unknown = "–", true
		}
		alone = alone || one.Alone
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t%s\t%s\n", signs[one.Grade], e.Name, e.From, e.Mechanism.Name,
			pointText(e.Cost(), report.Spent), noise, one.Label)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if unknown {
		fmt.Fprintln(b, "  – depends on the data, such as on the number of rows in a group. "+
			"Say in the job what you publicly assume of a column\n    (dataset.columns.NAME.assume: {mean: …, sd: …}), "+
			"and plan --sweep or --solve simulates the error")
	}
	if alone {
		fmt.Fprintln(b, "  alone: drawing the sample moves the value too. How much depends on the data, and may be far more than the noise: "+
			"with interval: 95 the\n    release says it. "+
			"What the job assumes of a column (assume) says it here, and -v says the worst case where the numbers of rows are public")
	}
	for _, e := range r.Releases {
		for _, x := range e.Expected {
			if text := oneEndText(x.OneEnd); text != "" {
				fmt.Fprintf(b, "  %s: %s\n", e.Name, text)
			}
		}
	}
	for _, e := range r.Releases {
		if e.Keys != nil && e.Keys.From == "" {
			fmt.Fprintf(b, "  keys of %s\n", e.Name)
			writeKeys(b, 4, e, r.Dataset)
		}
	}
	writeLimits(b, 2, r)
	for _, d := range r.Draws {
		writeKept(b, d.Kept)
	}
	writeSpend(b, r)
	writeTotal(b, r, limit)
	fmt.Fprintln(b, "\n-v prints every draw, event and expected error")
	return b.Flush()
}

// WritePlanDetail prints the report of a plan for a person.
func WritePlanDetail(w io.Writer, r *report.Report, limit ledger.Limit) error {
	b := bufio.NewWriter(w)
	writeUseless(b, r)
	writeHead(b, r)
	writeSpend(b, r)
	for _, d := range r.Draws {
		writeDraw(b, r, d)
	}
	for _, one := range r.Believed {
		fmt.Fprintf(b, "believed, and not checked: %s\n", report.BeliefText(one))
	}
	writeTotal(b, r, limit)
	return b.Flush()
}

// writeHead writes what the plan is about.
func writeHead(b *bufio.Writer, r *report.Report) {
	fmt.Fprintf(b, "job %s on %s: %s", r.Job.Name, r.Dataset.ID, r.Dataset.Relation)
	if r.Dataset.Population > 0 {
		fmt.Fprintf(b, ", %d %s", r.Dataset.Population, r.Dataset.Many())
	}
	fmt.Fprintln(b)
	if r.Dataset.Collected != "" {
		fmt.Fprintf(b, "the table is itself a sample: %s\n", r.Dataset.Collected)
		writeKept(b, r.Collection)
	}
	switch p := r.Dataset.Panel; {
	case p == nil:
	case p.Again:
		fmt.Fprintf(b, "wave %d of %d was released before: this release costs what a unit pays that is known to be in it, beside what all waves cost together\n", p.Wave, p.Waves)
	case !p.Collected:
		fmt.Fprintf(b, "wave %d of %d of a panel that is drawn here: who is in it follows from a secret in the ledger; the guarantee is for all waves together\n", p.Wave, p.Waves)
	}
}

// writeUseless says first which releases are not worth their price.
func writeUseless(b *bufio.Writer, r *report.Report) {
	for _, text := range r.Useless() {
		fmt.Fprintf(b, "%s; give it a larger epsilon, or leave it out\n", text)
	}
}

func writeDraw(b *bufio.Writer, r *report.Report, d report.Draw) {
	fmt.Fprintf(b, "\ndraw %s: %s\n", d.Name, d.Design)
	Line(b, 2, "event", d.Guarantee.EventText)
	Line(b, 2, "target on the population", pointText(d.Target, report.Allowed))
	if d.Design != "full" {
		Line(b, 2, "allowed on the sample", allowedText(d))
	}
	Line(b, 2, "charged on the population", charge(d.Guarantee))
	if len(d.PublicColumns) > 0 {
		Line(b, 2, "public", strings.Join(d.PublicColumns, ", ")+": a neighbour keeps them")
	}
	for _, c := range d.Guarantee.Claimed {
		Line(b, 2, "claimed, not charged", fmt.Sprintf("ε %s by %s: %s", report.Allowed(c.Epsilon), c.Source, c.Why))
	}
	writeKept(b, d.Kept)
	if d.Verdict != "" {
		Line(b, 2, "verdict", d.Verdict)
	}
	for _, rel := range r.Releases {
		if slices.Contains(d.Releases, rel.Name) {
			writeRelease(b, rel, d, r.Dataset)
		}
	}
}

// allowedText returns what may be spent on the sample, and under which relations.
func allowedText(d report.Draw) string {
	if a := d.SampleArrival; a != nil {
		return fmt.Sprintf("%s under replace-one, %s under add-remove: the noise is added", pointText(d.Sample, report.Allowed), pointText(*a, report.Spent))
	}
	return pointText(d.Sample, report.Allowed) + " under " + relations(d.SampleRelations)
}

func writeRelease(b *bufio.Writer, r report.Release, d report.Draw, data report.Dataset) {
	fmt.Fprintf(b, "  release %s: %s %s\n", r.Name, r.Mechanism.Name, r.Mechanism.Version)
	if r.Rho != nil {
		Line(b, 4, "asked on the population", "ρ "+r.Rho.Asked+", which stands for "+pointText(r.Target, report.Allowed))
		Line(b, 4, "charged in ρ", r.Rho.Charged)
	} else {
		Line(b, 4, "target on the population", pointText(r.Target, report.Allowed))
	}
	if d.Design != "full" {
		Line(b, 4, "allowed on the sample", pointText(r.Sample, report.Allowed))
	}
	Line(b, 4, "charged on the population", charge(r.Guarantee))
	Line(b, 4, "event", r.Guarantee.EventText)
	writeKeys(b, 4, r, data)
	writeLimited(b, 4, r)
	label := "weights"
	for _, text := range r.Weights.Text() {
		Line(b, 4, label, text)
		label = ""
	}
	writeExpected(b, 4, r)
	if r.Verdict != "" {
		Line(b, 4, "verdict", r.Verdict)
	}
	if !r.Mechanism.Builtin {
		Line(b, 4, "sandbox", r.Mechanism.Sandbox)
		switch r.Mechanism.Result {
		case report.ResultApart:
			Line(b, 4, "result", "apart: computed by dprelease from the noisy sums alone, as the plugin declared before any row was read")
		case report.ResultTrusted:
			Line(b, 4, "result", "trusted: the plugin sees rows and writes it; rounded to the lattice of the plan")
		}
	}
	if r.Mechanism.SelfNoising {
		Line(b, 4, "warning", "this plugin draws its own noise; the host cannot vouch for it")
	}
}

// writeKeys prints which values of a group column appear, and what that costs.
func writeKeys(b *bufio.Writer, indent int, r report.Release, data report.Dataset) {
	label := "keys"
	for _, text := range r.Keys.Text(data) {
		Line(b, indent, label, text)
		label = ""
	}
	if r.Keys != nil && r.Keys.Guarantee != nil {
		Line(b, indent, "charged for the keys", charge(*r.Keys.Guarantee))
	}
}

// writeKept prints the account of a draw that several jobs use.
func writeKept(b *bufio.Writer, k *report.Kept) {
	if k == nil {
		return
	}
	switch {
	case k.Reused:
		Line(b, 2, "sample", fmt.Sprintf("%s, used by %d earlier %s", k.ID, k.Jobs, plural(k.Jobs, "job", "jobs")))
	case k.ID == "":
		Line(b, 2, "sample", "its id is chosen by the run")
	default:
		Line(b, 2, "sample", k.ID)
	}
	Line(b, 2, "spent on the sample", pointText(k.SampleBefore, report.Spent)+" before, "+pointText(k.SampleAfter, report.Spent)+" with this job")
	Line(b, 2, "costs the population in all", pointText(k.Before, report.Spent)+" before, "+pointText(k.After, report.Spent)+" with this job")
	Line(b, 2, "difference, which is charged", pointText(k.Charged, report.Spent))
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// writeExpected prints what was known of a release's errors before any data was read.
func writeExpected(b *bufio.Writer, indent int, r report.Release) {
	for _, e := range r.Expected {
		label := "expected error"
		for _, text := range e.Text() {
			Line(b, indent, label, text)
			label = ""
		}
		if text := oneEndText(e.OneEnd); text != "" {
			Line(b, indent, label, text)
		}
	}
}

func writeTotal(b *bufio.Writer, r *report.Report, l ledger.Limit) {
	fmt.Fprintf(b, "\nthe whole job\n")
	Line(b, 2, "charged on the population", charge(r.Guarantee))
	if l.Epsilon != nil {
		text := "ε " + rational.Format(l.Epsilon)
		if l.Delta != nil {
			text += ", δ " + rational.Format(l.Delta)
		}
		Line(b, 2, "limit of the budget", text)
	}
	if l.Rho != nil {
		Line(b, 2, "limit of the budget", "ρ "+rational.Format(l.Rho))
	}
	writeMeaning(b, 2, r)
	writeAccount(b, r.Budget)
}

// writeMeaning says the guarantee of everything in words, and where it is weak.
func writeMeaning(b *bufio.Writer, indent int, r *report.Report) {
	Line(b, indent, "meaning", report.Chance(r.Guarantee, r.Dataset))
	Line(b, indent, "in other words", report.Meaning(r.Guarantee, r.Dataset))
	if note := r.Dataset.UnitNote(); note != "" {
		Line(b, indent, "unit", note)
	}
	for _, l := range r.Levels {
		Line(b, indent, l.Label(), l.Text(r.Dataset))
	}
	if weak := report.Caution(r.Guarantee, r.Dataset); weak != "" {
		Line(b, indent, "caution", weak)
	}
}

func charge(g report.Guarantee) string {
	return pointText(privacy.Point{Epsilon: g.Epsilon, Delta: g.Delta}, report.Spent) + " (" + g.Method + ")"
}

func relations(rs []privacy.Relation) string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = r.String()
	}
	return strings.Join(names, " and ")
}

// Line prints a label and a text in two columns.
func Line(b *bufio.Writer, indent int, label, text string) {
	fmt.Fprintf(b, "%*s%-*s %s\n", indent, "", 30-indent, label, text)
}

// telling are the amounts that a person is shown: all, or of the orders of an rdp account the
// one with the largest share left, which stands first.
func telling(filter string, all []report.Amount) []report.Amount {
	if filter == ledger.RDP {
		return all[:min(len(all), 1)]
	}
	return all
}

// accountLine returns the line of an account after a job: spent, limit and left.
func accountLine(a report.Amount) string {
	return fmt.Sprintf("%s of %s spent, %s left", a.Spent, a.Limit, a.Left)
}

func writeAccount(b *bufio.Writer, r *report.Budget) {
	if r == nil {
		return
	}
	if r.Address != "" {
		made := ""
		if r.Ledger == "" {
			made = ", which is not there yet"
		}
		Line(b, 2, "ledger", r.Address+made)
	}
	if len(r.Keeps) > 0 {
		Line(b, 2, "neighbours keep", strings.Join(r.Keeps, ", ")+": the account does not protect a change there")
	}
	after := "account after it, "
	if r.Slices != nil {
		after = "this slice after it, "
	}
	for _, a := range telling(r.Filter, r.Amounts) {
		Line(b, 2, after+a.Unit, accountLine(a))
	}
	if n := len(r.Amounts) - 1; r.Filter == ledger.RDP && n > 0 {
		Line(b, 2, "", fmt.Sprintf("the order with the largest share left, of %d; one with room is enough", n+1))
	}
	if s := r.Slices; s != nil {
		for _, a := range telling(r.Filter, s.Largest) {
			Line(b, 2, "largest slice, "+a.Unit, fmt.Sprintf("%s of %s spent, by a unit in one slice", a.Spent, a.Limit))
		}
		for _, a := range telling(r.Filter, s.Life) {
			limit := ""
			if a.Limit != "" {
				limit = " of " + a.Limit
			}
			Line(b, 2, "all slices, "+a.Unit, fmt.Sprintf("%s%s spent, by a unit in each of them (%d)", a.Spent, limit, s.Count))
		}
	}
	if r.Note != "" {
		Line(b, 2, "note", r.Note)
	}
}
