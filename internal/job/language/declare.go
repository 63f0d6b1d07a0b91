package language

import (
	"encoding/json"
	"errors"
	"math/big"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// language returns the whole job language: one declaration for every key. It is made once, and nobody changes it; so are the parts
// that a digest asks for again.
var language = sync.OnceValue(func() kind[job.Job] { return object(keysOfJob()...) })

func keysOfJob() []field[job.Job] {
	return []field[job.Job]{
		key("version", version(), func(j *job.Job) *int { return &j.Version },
			"The version of the job language, 1", required(), example("1")),
		key("job", name(), func(j *job.Job) *string { return &j.Name },
			"Two jobs that differ in nothing else are different jobs", required(), example("schools-2000")),
		variablesKey(),
		key("dataset", dataset(), func(j *job.Job) *job.Dataset { return &j.Dataset },
			"What is publicly known about the table. Nothing here may come from the data", required()),
		key("budget", budget(), func(j *job.Job) *job.Budget { return &j.Budget },
			"The account that the releases are charged to", required()),
		key("samples", named(sample(), "NAME", checkSampleName, func(s *job.Sample, n string) { s.Name = n }),
			func(j *job.Job) *[]job.Sample { return &j.Samples },
			"Draws, by name. All releases from one sample share one draw"),
		key("series", named(series(), "NAME", checkName, func(s *job.Series, n string) { s.Name = n }),
			func(j *job.Job) *[]job.Series { return &j.Series },
			"Figures that are published again and again, by name: the noise of a period helps that of the others (docs/how-to/every-month.md)"),
		key("releases", list(release(), 1), func(j *job.Job) *[]job.Release { return &j.Releases },
			"What is to be published", required()).with(func(j *job.Job) any { return releaseFacts(j) }),
		key("plugins", named(plugin(), "NAME", checkName, func(p *job.Plugin, n string) { p.Name = n }),
			func(j *job.Job) *[]job.Plugin { return &j.Plugins },
			"Mechanisms of others, by the name that releases use"),
		key("catalog", filePath(), func(j *job.Job) *string { return &j.Catalog },
			"The catalog of approved plugins, which dprelease plugin add writes. A release then names one as mechanism: name@version. "+
				"${NAME} is replaced", example("/etc/dprelease/catalog.json"), out("the digests of the plugins count")),
		key("sandbox", choice(Sandboxes...), func(j *job.Job) *string { return &j.Sandbox },
			"How mechanisms are confined: best as far as this machine allows, required in full, off not at all (docs/plugins.md)", otherwise("best"),
			out("it confines the mechanisms, and changes no release")),
		key("engine", engine(), func(j *job.Job) *job.Engine { return &j.Engine },
			"An Apache Beam pipeline that scans the table, by the program dprelease-beam. It changes neither releases nor cost, "+
				"and the job stays the same", out("where rows are added up changes nothing that is released")),
		key("output", output(), func(j *job.Job) *job.Output { return &j.Output },
			"Where the releases go", required(), out("it says where the releases go")),
		key("publication", optional(publication()), func(j *job.Job) **job.Publication { return &j.Publication },
			"Words for the report, such as a title. They change no release", out("words of the report")),
		key("lineage", headline(), func(j *job.Job) *string { return &j.Lineage },
			"The name of the table in OpenLineage events, where its path would say too much", example("trips"), out("a name in events")),
	}
}

// rootKeys are the keys of a job.
var rootKeys = sync.OnceValue(func() (names []string) {
	for _, d := range language().nested {
		names = append(names, d.Name)
	}
	return names
})

func version() kind[int] {
	return transform(only(Version, "this dprelease reads no other version"), func(v int64) (int, error) { return int(v), nil })
}

func budget() kind[job.Budget] {
	return object(
		key("ledger", ledgerAddress(), func(b *job.Budget) *job.Secret { return &b.Ledger },
			"The address of the ledger, which dprelease ledger init makes. "+
				"Without this key it is dprelease.db beside the job, which the first run makes. ${NAME} is replaced",
			example("sqlite:ledger.db"), out("it says where the account is kept")),
		key("limit", guarantee(), func(b *job.Budget) *job.Guarantee { return &b.Limit },
			"The most that all releases from this data set may ever spend; with dataset.slice, from each slice", required(),
			out("the account compares it, and no release depends on it")),
		key("lifetime", optional(guarantee()), func(b *job.Budget) **job.Guarantee { return &b.Lifetime },
			"With dataset.slice: the most that all slices together may ever spend", out("the account compares it, and no release depends on it")),
		key("spend", optional(guarantee()), func(b *job.Budget) **job.Guarantee { return &b.Spend },
			"What all releases of this job spend together; those without a guarantee share it (docs/sampling.md)",
			example(`{epsilon: "1", delta: "1e-6"}`)),
	)
}

var release = sync.OnceValue(func() kind[job.Release] {
	return object(
		key("name", name(), func(r *job.Release) *string { return &r.Name },
			"The name of the release and of its files", required(), example("mean_api")),
		key("from", text(), func(r *job.Release) *string { return &r.From },
			"The name of a sample, or all for the whole table", otherwise(job.All), example("srs")),
		key("table", name(), func(r *job.Release) *string { return &r.Table },
			"With dataset.tables: the table whose rows, or units, are counted", example("visits")),
		key("series", text(), func(r *job.Release) *string { return &r.Series },
			"The series that the release is in. Its guarantee is then for all periods together", example("visits-by-district")),
		key("where", expression(), func(r *job.Release) *job.Expression { return &r.Where },
			"A condition (docs/expressions.md): only rows for which it is true are counted", example(`"age >= 18"`)),
		key("having", expression(), func(r *job.Release) *job.Expression { return &r.Having },
			"A condition on the folded values of a unit, where dataset.fold makes one row of each unit", example(`"fare > 100"`)),
		key("by", distinct(list(text(), 1)), func(r *job.Release) *[]string { return &r.By },
			"Columns with a public domain: every combination of their values is released. One column may have only a type, with keys",
			example("[region, sex]")),
		key("other", text(), func(r *job.Release) *string { return &r.Other },
			"The name of a further group for the rows in no other group, which are else left out", example("other")),
		key("keys", optional(keysOf()), func(r *job.Release) **job.Keys { return &r.Keys },
			"The private selection of the values of a group column without a domain (docs/keys.md)"),
		key("cap", optional(ownCap()), func(r *job.Release) **job.Cap { return &r.Cap },
			"What holds here in the place of dataset.cap", example("{groups: 5}")),
		key("suppress", optional(suppress()), func(r *job.Release) **job.Suppress { return &r.Suppress },
			"Blanks small groups, and marks or blanks uncertain values. It costs nothing"),
		key("interval", amount(span{lo: "90", hi: "99.9"}), func(r *job.Release) **big.Rat { return &r.Interval },
			"The level, in per cent, of a confidence interval for each value in the population (docs/intervals.md)", example("95")),
		key("assume_share", amount(span{lo: "0", hi: "1", loOpen: true, hiOpen: true}), func(r *job.Release) **big.Rat { return &r.AssumeShare },
			"What a share is assumed to be, for forecasts; else one half", example("0.05"),
			out("it changes forecasts, and which of two estimators a share takes, which is an answer")),
		key("weights", choice(job.NoWeights), func(r *job.Release) *string { return &r.Weights },
			"none: each row counts once in this release, whatever dataset.weights says",
			out("they count with dataset.weights, for each release that has them")),
		key("mechanism", text(), func(r *job.Release) *string { return &r.Mechanism },
			"A built-in one, a name under plugins, or name@version of the catalog", required(), example("mean")),
		key("params", params(), func(r *job.Release) *json.RawMessage { return &r.Params },
			"The parameters of the mechanism (docs/mechanisms)", otherwise("{}"), example("{column: api00}")),
		key("guarantee", guarantee(), func(r *job.Release) *job.Guarantee { return &r.Guarantee },
			"What the release may cost on the population. May be left out only with budget.spend",
			example(`{epsilon: "0.5"}`)).with(func(r *job.Release) any {
			if r.Shares {
				return nil // a share is an answer
			}
			declared := guarantee()
			return declared.fact(&r.Guarantee)
		}),
		key("weight", amount(span{lo: "0", loOpen: true, hi: "1000000"}), func(r *job.Release) **big.Rat { return &r.Weight },
			"With budget.spend, for a release without a guarantee: with weight 2 its relative error is half as large", otherwise("1"),
			example("2")).with(func(r *job.Release) any {
			if !r.Shares {
				return nil
			}
			return exact(r.Weight)
		}),
	)
})

func plugin() kind[job.Plugin] {
	return object(
		key("path", filePath(), func(p *job.Plugin) *string { return &p.Path },
			"The executable. ${NAME} is replaced", required(), example("plugins/trimmed"), out("sha256 counts")),
		key("sha256", hexadecimal(64), func(p *job.Plugin) *string { return &p.SHA256 },
			"The SHA-256 of the executable: 64 hexadecimal digits. Nothing else is started", required()),
		key("allow_self_noising", flag(), func(p *job.Plugin) *bool { return &p.AllowSelfNoising },
			"Allow a plugin that draws its own noise, which the host cannot check; the report marks it", otherwise("false")),
		key("timeout", duration(), func(p *job.Plugin) *time.Duration { return &p.Timeout },
			"How long one release may take", otherwise("10m"), example("30s"), out("it changes no release")),
		key("reads", list(filePath(), 1), func(p *job.Plugin) *[]string { return &p.Reads },
			"Files and folders that its processes may read besides the system's. None may hold the table, the ledger or the output. "+
				"${NAME} is replaced", example("[models]"), out("it changes what a process may see, and sha256 says which program it is")),
		key("memory", size(), func(p *job.Plugin) *int64 { return &p.Memory },
			"The most memory for each of its processes; half of the machine's without this key", example("2GiB"), out("it changes no release")),
	)
}

func engine() kind[job.Engine] {
	return object(
		key("runner", pattern("1 to 40 lower-case letters", `^[a-z]{1,40}$`), func(e *job.Engine) *string { return &e.Runner },
			"The runner of Beam: prism (this machine), flink, spark, dataflow or universal", required(), example("prism")),
		key("options", byName(value(), "NAME", checkVariableName), func(e *job.Engine) *[]job.Named[string] { return &e.Options },
			"Options of dprelease-beam (docs/how-to/beam.md), or flags of the runner",
			example("{endpoint: \"localhost:8099\", exchange: /mnt/shared/exchange, secret_file: /run/secrets/dprelease}")),
	)
}

func output() kind[job.Output] {
	return object(
		key("dir", filePath(), func(o *job.Output) *string { return &o.Dir },
			"The folder of the releases, made by the run, or an address. ${NAME} is replaced", required(), example("out")),
		key("formats", distinct(list(choice("parquet", "arrow", "csv", "json"), 1)), func(o *job.Output) *[]string { return &o.Formats },
			"The formats that every release is written in", otherwise("[csv, json]"), example("[parquet, csv, json]")),
		key("publish_at", pattern("time of day such as 06:00", `^([01][0-9]|2[0-3]):[0-5][0-9]$`),
			func(o *job.Output) *string { return &o.PublishAt },
			"A run shows nothing before this time of day, so nobody learns how long it took", example(`"06:00"`)),
	)
}

func publication() kind[job.Publication] {
	return object(
		key("title", headline(), func(p *job.Publication) *string { return &p.Title },
			"Its title, else the name of the job"),
		key("publisher", headline(), func(p *job.Publication) *string { return &p.Publisher },
			"Who publishes it"),
		key("period", headline(), func(p *job.Publication) *string { return &p.Period },
			"The time that they are about"),
		key("contact", headline(), func(p *job.Publication) *string { return &p.Contact },
			"Whom to ask", example("statistics@example.org")),
		key("language", choice("en", "de"), func(p *job.Publication) *string { return &p.Language },
			"The language of the page", otherwise("en")),
		key("notes", list(headline(), 1), func(p *job.Publication) *[]string { return &p.Notes },
			"Sentences below the figures"),
		key("labels", byName(headline(), "NAME", shown), func(p *job.Publication) *[]job.Named[string] { return &p.Labels },
			"Words for releases, columns, units and values; “ward = 1” is one of a column", example("{W001: Surgery}")),
		key("published", pattern("day such as 2026-10-31", `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`),
			func(p *job.Publication) *string { return &p.Published }, "The first day, for the registry of deployments", example(`"2026-10-31"`)),
		key("intended_use", prose(), func(p *job.Publication) *string { return &p.IntendedUse },
			"What they are for; the registry demands it"),
		key("region", headline(), func(p *job.Publication) *string { return &p.Region },
			"Their region, or that whose laws apply; for the registry"),
		key("sector", choice("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
			func(p *job.Publication) *string { return &p.Sector }, "Their domain, for the registry"),
		key("sources", list(headline(), 1), func(p *job.Publication) *[]string { return &p.Sources },
			"Addresses or titles of texts about it, for the registry"),
		key("justification", prose(), func(p *job.Publication) *string { return &p.Justification },
			"Why budget, unit and design are so, for the registry"),
	)
}

// shown checks a name that stands in a release.
func shown(text string) (string, error) {
	if text == "" || len(text) > 200 {
		return "", errors.New("must have 1 to 200 characters")
	}
	return text, nil
}

// prose is a text of several lines.
func prose() kind[string] {
	return pattern("1 to 1000 characters", `^[^\x00-\x08\x0b-\x1f\x7f]{1,1000}$`)
}

// headline is one line of text.
func headline() kind[string] {
	return pattern("1 to 200 characters on one line", `^[^\x00-\x1f\x7f]{1,200}$`)
}

func relation() kind[privacy.Relation] {
	word := choice("add-remove", "replace-one")
	return transform(word, func(s string) (privacy.Relation, error) { return privacy.ParseRelation(s) })
}
