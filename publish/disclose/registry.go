package disclose

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// Registry writes the entry of a run for the registry of deployments. Date is the day of the
// publication where its words do not say.
func Registry(r *report.Report, date string) (*Entry, error) {
	e := entry{}
	p := r.Publication
	if p == nil {
		p = &report.Publication{}
	}
	basic(e, r, p, date)
	const loss, model, variant = "deployment.privacy_loss.", "deployment.deployment_model.", "deployment.dp_variant."
	d := &r.Dataset

	name, rho := variantOf(r)
	e.set(variant+"variant_name", name)
	e.set(variant+"data_domain", dataDomain(r))
	e.set(variant+"unprotected_quantities", unprotected(r))

	e.set(loss+"privacy_unit", unitLevel(d))
	e.set(loss+"privacy_unit_details", unitDetails(r))
	if rho != "" {
		e.number(loss+"privacy_parameters.rho", rho)
	} else {
		e.number(loss+"privacy_parameters.epsilon", report.Spent(r.Guarantee.Epsilon))
		if r.Guarantee.Delta > 0 {
			e.number(loss+"privacy_parameters.delta", report.Spent(r.Guarantee.Delta))
		}
	}
	e.set(loss+"privacy_parameters_details", parameterDetails(r))

	e.set(model+"model_name", "Central")
	if local := localReleases(r); len(local) > 0 {
		e.set(model+"model_name_details", "Central: the curator holds the table. The releases "+strings.Join(local, ", ")+
			" use randomized response on each row, as the curator's program draws it; a row is not randomized before it reaches the curator.")
	}
	e.set(model+"actors", `- Curator: its machine reads the table, draws samples and adds the noise; whoever runs the job may see the table.
- Mechanisms: each runs in a process of its own, reads the columns that its release names and never holds the noise. `+
		`Their sensitivities are trusted.
- Ledger: whoever keeps it sees what was spent and the released files, and no row.
- Readers: anybody. They see the releases and the public report. An attacker may know everything about all other units.`)
	many, source := "One release", "Static"
	details := "The releases of this entry were made in one run. An account in a durable ledger adds up what every run on these data " +
		"costs, and refuses a run that would exceed its limit. The limit does not renew."
	if d.Slice != nil {
		many, source = "Many releases", "Dynamic"
		details = "One publication for each value of " + d.Slice.Column + "; this entry is about " + d.Slice.Is +
			". Each slice has an account of its own in a durable ledger, which refuses a run that would exceed its limit. " +
			"What a unit in several slices loses adds up."
	}
	e.set(model+"release_type", many)
	e.set(model+"release_type_details", details)
	e.set(model+"data_source_type", source)
	e.set(model+"data_source_type_details",
		strings.TrimSpace(periodOf(p)+" The data set is "+d.ID+"; the digest of the job's meaning is "+r.Job.Digest+"."))
	e.set(model+"access_type", "Non-interactive")
	e.set(model+"access_type_details", "The queries are fixed in a job file before any data is read.")

	e.set("deployment.accounting.post_processing", postProcessing(r))
	e.set("deployment.accounting.composition", composition(r))
	e.set("deployment.implementation.preprocessing_and_hyperparameter_tuning", preprocessing(r))
	e.set("deployment.implementation.mechanisms", mechanisms(r))
	e.set("deployment.implementation.justification", p.Justification)

	var sources []string
	for _, s := range p.Sources {
		sources = append(sources, "- "+s)
	}
	e.set("deployment.administrative.sources", strings.Join(sources, "\n"))
	e.set("deployment.administrative.notes",
		"- Written by "+r.Tool.Name+" "+r.Tool.Version+" from the report of the run, for the registry's schema at commit "+RegistryCommit+
			".\n- The guarantee holds if no bound, domain or other public fact was taken from the data, and if the sensitivities of the "+
			"mechanisms are what they claim.\n"+
			"- Public facts of the job were not checked by anybody but its author.")
	e.list("deployment.administrative.registry_authors", p.Contact)
	out, err := e.finish()
	if out != nil {
		out.Dated = p.Published == ""
	}
	return out, err
}

func basic(e entry, r *report.Report, p *report.Publication, date string) {
	const basic = "deployment.basic."
	name := p.Title
	if name == "" {
		name = r.Job.Name
	}
	if p.Published != "" {
		date = p.Published
	}
	e.set(basic+"name", name)
	e.list(basic+"data_curators", p.Publisher)
	e.set(basic+"intended_use", p.IntendedUse)
	kind := "Summary statistics"
	if !slices.ContainsFunc(r.Releases, func(e report.Release) bool { return !models[e.Mechanism.Name] }) {
		kind = "Machine learning model"
	}
	e.set(basic+"data_product_type", kind)
	e.set(basic+"data_product_region", p.Region)
	var lines []string
	for _, x := range r.Releases {
		line := "- " + x.Name + ": " + x.Mechanism.Name
		if len(x.By) > 0 {
			line += " by " + strings.Join(x.By, ", ")
		}
		if text := report.ParamsText(x.Params); text != "" {
			line += " (" + text + ")"
		}
		if x.Where != "" {
			line += ", where " + x.Where
		}
		lines = append(lines, line)
	}
	e.set(basic+"description", "Statistics with noise, from the data set "+r.Dataset.ID+":\n"+shortened(lines, 60))
	e.set(basic+"publication_date", date)
	e.set(basic+"data_product_sector", p.Sector)
}

// models are the mechanisms whose release is a model.
var models = map[string]bool{"sgd": true, "regression": true}

// shortened joins lines, and says how many it leaves out.
func shortened(lines []string, most int) string {
	if more := len(lines) - most; more > 0 {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("- and %d more, which report.json lists", more))
	}
	return strings.Join(lines, "\n")
}

// variantOf is the variant of the charged guarantee, and its ρ where the account counts in it.
func variantOf(r *report.Report) (name, rho string) {
	if b := r.Budget; b != nil && b.LimitRho != "" {
		for _, a := range b.Amounts {
			if a.Unit == "rho" {
				return "Zero-concentrated DP", a.Cost
			}
		}
	}
	if r.Guarantee.Delta > 0 {
		return "Approximate DP", ""
	}
	return "Pure DP", ""
}

func dataDomain(r *report.Report) string {
	d := &r.Dataset
	out := []string{"All tables of " + d.Many() + " with the columns, bounds and domains that the job declares."}
	if d.Population > 0 && d.Relation == privacy.ReplaceOne {
		out = append(out, fmt.Sprintf("They have %d %s.", d.Population, d.Many()))
	}
	if s := d.Slice; s != nil {
		out = append(out, "Only rows with "+s.Column+" = "+s.Is+" are read.")
	}
	if text := d.CollectedText(); text != "" {
		out = append(out, "The table is itself a sample of a larger population ("+text+"), and the guarantee is about that population.")
	}
	for _, x := range r.Draws {
		if x.Design != "full" {
			out = append(out,
				"The sample "+x.Name+" was drawn from the table by the program ("+x.Design+"); the guarantee is about the whole table.")
		}
	}
	return strings.Join(out, " ")
}

func unprotected(r *report.Report) string {
	d := &r.Dataset
	var out []string
	if d.Relation == privacy.ReplaceOne {
		out = append(out, fmt.Sprintf("- The number of %s: %d.", d.Many(), d.Population))
	}
	if len(d.PublicColumns) > 0 {
		out = append(out, "- The columns "+strings.Join(d.PublicColumns, ", ")+", which all neighbours share.")
	}
	for _, x := range r.Draws {
		if a := x.Amplification; a != nil {
			out = append(out, fmt.Sprintf("- The design of the sample %s (%s, rate %.4g), not who was drawn.", x.Name, x.Design, a.Rate))
		}
	}
	out = append(out, "- The bounds and domains of all columns, and every group that the job lists.")
	if l := r.Look; l != nil {
		out = append(out, "- "+l.Text()+".")
	}
	return strings.Join(out, "\n")
}

func unitLevel(d *report.Dataset) string {
	text := capital(d.One())
	if d.Slice != nil {
		text += "-" + d.Slice.Column
	}
	return text + "-level"
}

// unitDetails begins with the relation, so that two entries can be compared.
func unitDetails(r *report.Report) string {
	d := &r.Dataset
	out := []string{"add-remove: symmetric distance, at most 1 " + d.One() + "."}
	if d.Relation == privacy.ReplaceOne {
		out[0] = "replace-one: change-one distance, at most 1 " + d.One() + "."
	}
	out = append(out, sentence(report.Meaning(r.Guarantee, *d)))
	if note := d.UnitNote(); note != "" {
		out = append(out, sentence(note))
	}
	if c := d.UnitCap; c != nil {
		out = append(out, fmt.Sprintf("A %s counts in at most %d groups of a release, with at most %d rows in each.", d.One(), c.Groups, c.Rows))
	}
	if s := d.Slice; s != nil {
		out = append(out,
			"The parameters are about the slice "+s.Column+" = "+s.Is+"; what a "+d.One()+" in several slices loses is the sum over them.")
	}
	return strings.Join(out, " ")
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return capital(s) + "."
}

// capital is a text with a capital letter in front.
func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

func point(g report.Guarantee) string {
	return "epsilon " + report.Spent(g.Epsilon) + ", delta " + report.Spent(g.Delta)
}

func parameterDetails(r *report.Report) string {
	out := []string{"The charged guarantee of everything in this entry together: " + point(r.Guarantee) + ". " +
		sentence(report.Chance(r.Guarantee, r.Dataset)) + " By release, each alone:"}
	var lines []string
	for _, e := range r.Releases {
		line := "- " + e.Name + ": " + point(e.Guarantee)
		if e.From != report.All {
			line += "; before amplification by sampling it may spend epsilon " + report.Allowed(e.Sample.Epsilon) + ", delta " +
				report.Allowed(e.Sample.Delta) + " on the sample " + e.From
		}
		lines = append(lines, line)
	}
	out = append(out, shortened(lines, 60))
	var methods []string
	for name, eps := range r.Guarantee.Methods {
		methods = append(methods, name+" "+report.Spent(eps))
	}
	slices.Sort(methods)
	return strings.Join(
		append(out, "Bounds on epsilon by method at the same delta: "+strings.Join(methods, ", ")+"; the smallest is charged."), "\n")
}

// localReleases are those by randomized response.
func localReleases(r *report.Report) (out []string) {
	for _, e := range r.Releases {
		if e.Mechanism.Name == "randomized-response" {
			out = append(out, e.Name)
		}
	}
	return out
}

func periodOf(p *report.Publication) string {
	if p.Period == "" {
		return ""
	}
	return "Reference period: " + p.Period + "."
}

func postProcessing(r *report.Report) string {
	out := []string{"- The files of the releases hold every digit; pages round them to what the noise leaves meaningful."}
	for _, e := range r.Releases {
		if s := e.Suppress; s != nil {
			out = append(out, fmt.Sprintf("- %s: groups whose released %s is below %g are blank.", e.Name, s.Column, s.Below))
		}
		switch e.Mechanism.Name {
		case "mean":
			if r.Dataset.Relation == privacy.AddRemove || len(e.By) > 0 {
				out = append(out, "- "+e.Name+": a mean is a noisy sum divided by a noisy or public number, kept within the bounds of its column.")
			}
		case "ratio", "variance", "sd":
			out = append(out, "- "+e.Name+": computed from noisy sums, so it is biased for small groups.")
		case "randomized-response":
			out = append(out, "- "+e.Name+": the shares are corrected for the chance of a random answer.")
		}
	}
	return strings.Join(out, "\n")
}

func composition(r *report.Report) string {
	out := []string{"Inside a draw everything is composed on the sample and amplified once; draws are composed with each other by the " +
		"method that is charged (" + r.Guarantee.Method + ")."}
	if b := r.Budget; b != nil {
		out = append(out, "Across jobs a ledger adds up with the filter "+b.Filter+
			", which holds when later jobs are chosen after earlier releases were read.")
	}
	out = append(out, "The event of this run: "+r.Guarantee.EventText)
	return strings.Join(out, " ")
}

func preprocessing(r *report.Report) string {
	out := []string{"- Bounds, domains and sizes were declared in the job before data was read; values beyond a bound are moved to it."}
	for _, d := range r.Draws {
		if a := d.Amplification; a != nil {
			out = append(out, fmt.Sprintf("- Sample %s: %s at a rate of %.4g, drawn by the program from the table and kept secret. "+
				"Amplification: %s (%s).", d.Name, d.Design, a.Rate, a.Rule, a.Source))
		}
	}
	switch r.Dataset.UnitRows {
	case "folded":
		out = append(out, "- The rows of a unit were folded into one before anything was counted.")
	case "capped":
		out = append(out, "- The rows of a unit were capped before anything was counted.")
	case "joined":
		for _, t := range r.Dataset.Tables {
			out = append(out, "- Table "+t.Name+" was joined with the others by the unit; the rows of a unit in it were "+
				map[string]string{"": "at most one", "folded": "folded into one", "capped": "capped"}[t.UnitRows]+" before anything was counted.")
		}
	}
	if r.Look == nil {
		out = append(out, "- The ledger knows of no private look at the table before the run; looks outside of the program leave no trace there.")
	} else {
		out = append(out, "- "+sentence(r.Look.Text())+" The look has no noise and is not in the charged guarantee.")
	}
	return strings.Join(out, "\n")
}

func mechanisms(r *report.Report) string {
	var out []string
	for _, e := range r.Releases {
		m := e.Mechanism
		line := "- " + e.Name + ": " + m.Name + " " + m.Version
		if !m.Builtin {
			line += ", a plugin with SHA-256 " + m.SHA256
		}
		if m.SelfNoising {
			line += ", which draws its own noise: nothing here vouches for it"
		}
		out = append(out, line+". Event: "+e.Guarantee.EventText)
	}
	text := shortened(out, 40)
	text += "\n- Program: " + r.Tool.Name + " " + r.Tool.Version +
		". The noise is drawn exactly, on integers, from the operating system's random source, by the host and not by the mechanism: " +
		"floating point adds no attack. Mechanisms run in processes of their own" + sandboxText(r) + ". Failures are told by fixed codes, " +
		"and no file that is published holds a run time."
	return text
}

func sandboxText(r *report.Report) string {
	for _, e := range r.Releases {
		if e.Mechanism.Sandbox != "" {
			return ", confined by: " + e.Mechanism.Sandbox
		}
	}
	return ""
}
