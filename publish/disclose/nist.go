package disclose

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// GuidelineText names the guideline. The list of hazards was checked against its draft.
const GuidelineText = "NIST SP 800-226 (final since March 2025), hazards as listed in its draft of December 2023"

// Verdict is the program's judgement of a hazard.
type Verdict string

// The verdicts of the assessment.
const (
	Warning Verdict = "warning"        // the hazard is there
	Judge   Verdict = "yours to judge" // the program shows facts, and a person decides
	Met     Verdict = "met"            // the program rules it out, by what the evidence says
	Outside Verdict = "does not apply"
)

// Hazard is one hazard of the guideline, or one that it leaves out.
type Hazard struct {
	Number   string  `json:"number"` // ours begin with S
	Section  string  `json:"section,omitempty"`
	Hazard   string  `json:"hazard"`
	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"`
}

// Hazards judges a run by its report.
func Hazards(r *report.Report) []Hazard {
	h := hazards{r: r, d: &r.Dataset}
	h.strength()
	h.unit()
	h.algorithms()
	h.deployment()
	h.sampling()
	slices.SortStableFunc(h.all, func(a, b Hazard) int { return order(a) - order(b) })
	return h.all
}

// order is the guideline's: ours come last.
func order(h Hazard) int {
	n, err := strconv.Atoi(strings.TrimPrefix(h.Number, "S"))
	if err != nil || strings.HasPrefix(h.Number, "S") {
		n += 100
	}
	return n
}

type hazards struct {
	r   *report.Report
	d   *report.Dataset
	all []Hazard
}

func (h *hazards) add(number, section, hazard string, v Verdict, evidence string, args ...any) {
	if len(args) > 0 {
		evidence = fmt.Sprintf(evidence, args...)
	}
	h.all = append(h.all, Hazard{number, section, hazard, v, evidence})
}

// strength is about ε and δ.
func (h *hazards) strength() {
	r, g := h.r, h.r.Guarantee
	v := Met
	if g.Epsilon > 1 {
		v = Judge
	}
	if g.Epsilon > 20 {
		v = Warning
	}
	h.add("1", "2.2", "A large ε may protect nobody", v,
		"Charged for everything: %s. %s. The guideline calls ε up to 1 strong in most cases, and above 20 possibly meaningless. "+
			"What other runs on the same data cost adds up in the ledger.",
		point(g), capital(report.Chance(g, *h.d)))
	if g.Delta == 0 {
		h.add("2", "2.3", "(ε, δ) allows a total failure with probability δ", Met, "δ is 0: the guarantee is pure.")
	} else {
		var own []string
		for _, e := range r.Releases {
			if e.Guarantee.Delta > 0 {
				own = append(own, e.Name+" ("+report.Spent(e.Guarantee.Delta)+")")
			}
		}
		v, text := Judge, "δ is %s. Releases with a δ: %s."
		if n := h.d.Population; n > 0 {
			if v = Met; g.Delta*float64(n) >= 1 {
				v = Warning
			}
			text += fmt.Sprintf(" The table has %d %s: δ should be far below 1 in %d.", n, h.d.Many(), n)
		}
		h.add("2", "2.3", "(ε, δ) allows a total failure with probability δ", v, text, report.Spent(g.Delta), list(own))
	}
	h.add("5", "2.5", "At different δ, ε cannot be compared", Met, "Every ε is printed with its δ. report.html holds the whole curve of "+
		"δ against ε, so that any other report can be compared at its own δ.")
	h.add("6", "2.5", "With different units, ε cannot be compared", Met, "Unit and relation stand beside the guarantee: one %s, %s. "+
		"publish compare adds no costs where they differ.", h.d.One(), h.d.Relation)
	v, evidence := Met, "No ε of this run comes from a conversion at a chosen δ: δ is 0."
	if g.Delta > 0 {
		evidence = "The charged method is " + g.Method +
			", at the δ that the job asked for. report.json holds the event, from which anybody can compute the guarantee again at another δ."
		if n := h.d.Population; n > 0 && g.Delta > 1/float64(n) {
			v = Warning
		}
	}
	h.add("7", "2.5", "A large δ in a conversion makes ε look small", v, evidence)
}

// unit is about who is protected, and what is not.
func (h *hazards) unit() {
	d := h.d
	text := "Protected: whether any one " + d.One() + " is in the table. Not protected: what is learnt of two or more " + d.Many() +
		" together, beyond the sum of their guarantees."
	if d.Relation == privacy.ReplaceOne {
		text = "Protected: which values any one " + d.One() +
			" has. Not protected: whether it is in the table at all, because the number of " + d.Many() + " is public."
	}
	if len(d.PublicColumns) > 0 {
		text += " Not protected either: " + strings.Join(d.PublicColumns, ", ") + ", which all neighbours share."
	}
	h.add("3", "2.4", "Situations that are not neighbours may be told apart", Judge, "%s", text)
	if d.UnitColumn == "" {
		h.add("4", "2.4", "Rows are protected, not persons", Warning, "The unit is a row. Somebody with several rows is protected less, "+
			"as many times as rows. If a row is a person, name the column that identifies persons (dataset.unit) and the run checks it.")
	} else {
		text := "The unit is a " + d.One() + ", by the column " + d.UnitColumn + "."
		switch {
		case d.UnitRows == "joined":
			for _, t := range d.Tables {
				text += " In table " + t.Name + " " + map[string]string{"": "it has at most one row, which the run checked.",
					"folded": "its rows are folded into one.", "capped": "its rows are capped."}[t.UnitRows]
			}
		case d.UnitRows == "folded":
			text += " Its rows are folded into one."
		case d.UnitCap != nil:
			text += fmt.Sprintf(" It counts in at most %d groups of a release, with at most %d rows in each.", d.UnitCap.Groups, d.UnitCap.Rows)
		default:
			text += " The run checked that it has one row."
		}
		v := Met
		if d.UnitMissing == "own" {
			v, text = Judge, text+" A row without a value of it counts as a unit of its own."
		}
		if s := d.Slice; s != nil {
			v, text = Judge,
				text+" The guarantee is for one slice ("+s.Column+" = "+s.Is+"): a "+d.One()+" in several slices loses the sum of theirs."
		}
		h.add("4", "2.4", "Rows are protected, not persons", v, "%s", text)
	}
	var public []string
	if d.Relation == privacy.ReplaceOne {
		public = append(public, fmt.Sprintf("the number of %s (%d)", d.Many(), d.Population))
	}
	public = append(public, d.PublicColumns...)
	h.add("8", "2.6", "Exact figures from the same data stay unprotected", Judge, "Public without noise: %s, and the bounds, "+
		"domains and listed groups of the job. Whether other tables were published from the same data without noise, "+
		"only the publisher knows.", list(public))
}

// algorithms is about mechanisms and what they do to the results.
func (h *hazards) algorithms() {
	r := h.r
	var foreign, selfNoising, used, grouped, clipped []string
	trained, keyed := []string{}, []string{}
	for _, e := range r.Releases {
		m := e.Mechanism
		if name := m.Name + " " + m.Version; !slices.Contains(used, name) {
			used = append(used, name)
			if !m.Builtin {
				foreign = append(foreign, name+" (SHA-256 "+m.SHA256+")")
			}
		}
		if m.SelfNoising {
			selfNoising = append(selfNoising, e.Name)
		}
		if len(e.By) > 0 || strings.Contains(string(e.Params), `"by"`) {
			grouped = append(grouped, e.Name)
		}
		if slices.Contains([]string{"mean", "sum", "ratio", "variance", "sd", "regression"}, m.Name) {
			clipped = append(clipped, e.Name)
		}
		if m.Name == "sgd" {
			trained = append(trained, e.Name)
		}
		if e.Keys != nil {
			keyed = append(keyed, e.Name)
		}
	}
	v, text := Met, "Mechanisms: "+list(used)+". The host draws the noise; every built-in mechanism has a written proof and is attacked "+
		"by the conformance suite."
	if len(foreign) > 0 {
		v, text = Judge, text+" Plugins of third parties: "+list(foreign)+"; their sensitivities are claims that dprelease plugin check attacks."
	}
	if len(selfNoising) > 0 {
		v, text = Warning, text+" Plugins that draw their own noise, which nothing vouches for: "+list(selfNoising)+"."
	}
	h.add("9", "3", "Home-made implementations fail", v, "%s", text)
	if len(grouped) == 0 {
		h.add("10", "3.3.1", "Noise hits small groups harder", Outside, "No release has groups.")
	} else {
		h.add("10", "3.3.1", "Noise hits small groups harder", Judge, "Releases by group: %s. The noise is the same for every group, "+
			"so it is larger against small ones; report.html shows each value with its noise, and marks suppressed groups, which are found "+
			"from noisy numbers.", list(grouped))
	}
	h.add("11", "3.3.2", "Making results look right harms in other ways", Met, "The files hold every digit as released; "+
		"what a mechanism does to its result after the noise stands in the meaning of its columns. Pages round to what the noise leaves "+
		"meaningful%s.", suppressed(r))
	if len(clipped) == 0 {
		h.add("12", "3.3.3", "Mechanisms may be biased", Met, "Noise has the mean zero. No release clips values of a column.")
	} else {
		h.add("12", "3.3.3", "Mechanisms may be biased", Judge, "Noise has the mean zero. Values beyond the declared bounds are moved to "+
			"them, which biases %s where there are such values; how many is private. Ratios and spreads are biased for small groups.", list(clipped))
	}
	if c := h.d.UnitCap; c != nil {
		h.add("13", "3.4.1", "Bounding contributions costs noise", Judge, "The noise covers a unit in %d groups with %d rows in each. "+
			"dprelease check --data shows, in private, what a cap leaves out.", c.Groups, c.Rows)
	} else {
		h.add("13", "3.4.1", "Bounding contributions costs noise", Met, "A unit is one row of what the mechanisms read, so nothing is cut off.")
	}
	if len(keyed) == 0 {
		h.add("14", "3.4.1", "Groups that are found in the data leak by being there", Met, "All groups are listed in the job or are public.")
	} else {
		h.add("14", "3.4.1", "Groups that are found in the data leak by being there", Met,
			"The groups of %s are selected in private; the selection has a guarantee of its own, which is charged.", list(keyed))
	}
	if len(trained) == 0 {
		h.add("15", "3.5", "A trained model remembers its rows", Outside, "No model is trained by steps.")
	} else {
		h.add("15", "3.5", "A trained model remembers its rows", Met, "%s: gradients are clipped, and the host adds noise to every step. "+
			"The event of each stands in report.json.", list(trained))
	}
	h.add("16", "3.6", "Synthetic data without a guarantee can be attacked", Outside,
		"Only noisy statistics leave. What others make of them keeps the guarantee.")
	h.add("17", "3.6", "Deep generators give worse private data than marginals", Outside, "The program has none.")
	h.add("18", "3.7", "Text, images and video have no clear unit", Outside, "The program reads tables with typed columns and a unit.")
}

func suppressed(r *report.Report) string {
	var names []string
	for _, e := range r.Releases {
		if e.Suppress != nil {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", and small groups of " + list(names) + " are blank"
}

// deployment is about the world around the program.
func (h *hazards) deployment() {
	r := h.r
	text := "The queries are fixed in the job before data is read."
	if b := r.Budget; b != nil {
		text += " A ledger adds up all jobs on the data set with the filter " + b.Filter + ", and refuses one that would exceed the limit."
	}
	h.add("19", "4.1", "Asking one by one makes budget and security harder", Met, "%s", text)
	publisher := ""
	if p := r.Publication; p != nil && p.Publisher != "" {
		publisher = " (" + p.Publisher + ")"
	}
	h.add("20", "4.2", "The guarantee falls with its trust assumptions", Judge, "Central model. Trusted: the curator%s and the machine "+
		"of the run, whoever may run jobs, the ledger's keeper, and the sensitivity that each mechanism claims. Mechanisms run apart%s.",
		publisher, sandboxText(r))
	h.add("21", "4.3", "Floating point, run time, errors and the backend leak", Met,
		"Noise is exact, on integers, from the operating system's random source. Failures have fixed codes. No published file holds a run "+
			"time; how long a run takes is private, and so is why one failed.")
	h.add("22", "4.4", "A breach of the raw data voids everything", Judge, "The table, the ledger with its kept samples, "+
		"and files that begin with CONFIDENTIAL are private, and outside of what the program can protect. It writes private files so that "+
		"their owner alone may read them.")
	h.add("23", "4.4", "So does a wrong access policy", Judge, "Who may read the table and who may debit the ledger is set outside. "+
		"The ledger records who acted, and can demand two persons to raise a limit.")
	h.add("24", "4.5", "A guarantee is no reason to collect more", Judge, "Mechanisms get the columns that their release names, "+
		"and no others. Whether the others need to be collected and kept, only the publisher knows.")
}

// sampling adds the hazards of samples, which the guideline leaves out.
func (h *hazards) sampling() {
	var sampled []report.Draw
	for _, d := range h.r.Draws {
		if d.Amplification != nil {
			sampled = append(sampled, d)
		}
	}
	if len(sampled) == 0 {
		h.add("S1", "", "A sample that does not stay secret amplifies nothing", Outside, "No sample was drawn.")
	} else {
		var rules []string
		for _, d := range sampled {
			rules = append(rules, fmt.Sprintf("%s (%s): %s; %s", d.Name, d.Design, d.Amplification.Rule, d.Amplification.Source))
		}
		h.add("S1", "", "A sample that does not stay secret amplifies nothing", Judge,
			"The program drew the samples itself, charges each draw once, and publishes neither who was drawn nor how many. "+
				"Nobody else may learn it. Rules: %s.", strings.Join(rules, " | "))
	}
	h.add("S2", "", "Running a job again averages the noise away", Met, "A job that was released from the same data is published again "+
		"from the ledger with the same bytes. Other jobs on the data are debited.")
	v, text := Judge, "The ledger knows of no private look at the table. Whether somebody looked in another way before the bounds were "+
		"written down, only the publisher knows."
	if l := h.r.Look; l != nil {
		if text = sentence(l.Text()); len(l.Changed) > 0 {
			v = Warning
		}
	}
	h.add("S3", "", "Bounds that were taken from the data leak it", v, "%s", text)
}

func list(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 12:
		return strings.Join(names[:12], ", ") + fmt.Sprintf(" and %d more", len(names)-12)
	}
	return strings.Join(names, ", ")
}

//go:embed nist.html.tmpl
var nistText string

// WriteNIST writes the hazards as a page.
func WriteNIST(w io.Writer, r *report.Report) error {
	t, err := template.New("nist").Parse(nistText)
	if err != nil {
		return err
	}
	all := Hazards(r)
	count := map[string]int{}
	for _, h := range all {
		count[string(h.Verdict)]++
	}
	title := r.Job.Name
	if r.Publication != nil && r.Publication.Title != "" {
		title = r.Publication.Title
	}
	var body bytes.Buffer
	if err := t.Execute(&body, map[string]any{"Title": title, "Text": GuidelineText, "Hazards": all, "Count": count}); err != nil {
		return err
	}
	return report.Document(w, title+": hazards", template.HTML(body.String())) //nolint:gosec // a template escaped it
}
