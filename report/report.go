package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
)

// Version is the version of the format.
const Version = 1

// Report is report.json.
type Report struct {
	Version int  `json:"version"`
	Tool    Tool `json:"tool"`
	Job     Job  `json:"job"`
	// Publication holds the job's words about the page, nil where there are none.
	Publication *Publication `json:"publication,omitempty"`
	Dataset     Dataset      `json:"dataset"`
	Guarantee   Guarantee    `json:"guarantee"`
	Levels      []Level      `json:"levels,omitempty"`   // what it is worth to others than one unit
	Believed    []Belief     `json:"believed,omitempty"` // what nothing checks
	Spend       *Spend       `json:"spend,omitempty"`    // where releases share a budget of the job
	Draws       []Draw       `json:"draws"`
	Releases    []Release    `json:"releases"`
	Budget      *Budget      `json:"budget,omitempty"`
	// Collection is set where the table is itself a sample: one draw for all jobs.
	Collection *Kept `json:"collection,omitempty"`
	// Look is set where somebody looked at the table in private before the release.
	Look *Look `json:"look,omitempty"`
}

// Look holds the consequences of private looks at a table (dprelease check --data). It holds
// nothing that was seen.
type Look struct {
	// Changed are the columns whose bounds or domain differ from those of some look.
	Changed []string `json:"changed,omitempty"`
}

// Text says it in an English sentence without its full stop.
func (l *Look) Text() string { return l.text(wordsIn("en")) }

func (l *Look) text(w words) string {
	switch {
	case l == nil:
		return ""
	case len(l.Changed) == 0:
		return w.t("look.same")
	}
	return w.t("look.changed", strings.Join(l.Changed, ", "))
}

// Tool is the program that made the releases.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Job names the job and the digest of its meaning.
type Job struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// Dataset holds the public facts about the table.
type Dataset struct {
	ID       string           `json:"id"`
	Relation privacy.Relation `json:"relation"`
	Unit     string           `json:"unit"`
	// UnitName and UnitPlural are what the job calls a unit, "" where it does not say. They
	// are a promise only where the run checked, by UnitColumn, that a unit has one row.
	UnitName   string `json:"unit_name,omitempty"`
	UnitPlural string `json:"unit_plural,omitempty"`
	UnitColumn string `json:"unit_column,omitempty"`
	// UnitRows is the treatment of the several rows of a unit: folded, capped, or joined where Tables say it one by
	// one; "" where a unit has one. UnitMissing is the treatment of rows without a unit.
	UnitRows    string `json:"unit_rows,omitempty"`
	UnitMissing string `json:"unit_missing,omitempty"`
	UnitCap     *Cap   `json:"unit_cap,omitempty"`
	// Tables are the private tables that are joined by the unit, none where there is one. The first one that is Population
	// has every unit.
	Tables []DataTable `json:"tables,omitempty"`
	Slice  *Slice      `json:"slice,omitempty"` // the part of a larger table that this is
	// Periods are those of a series, nil for a job without one.
	Periods *Periods `json:"periods,omitempty"`
	// Snapshot is the id of the snapshot that was read of an Iceberg table: a text, because it has more digits than a number of JSON.
	Snapshot string `json:"snapshot,omitempty"`
	// Travelled is the least safe way on which rows came from databases and stores: "here", "checked", "encrypted" or "plain", and ""
	// where all are files of this machine.
	Travelled  string     `json:"travelled,omitempty"`
	Population int64      `json:"population,omitempty"`
	Collected  *Collected `json:"collected,omitempty"` // nil where it is no sample
	// Panel is the panel of which the table is, or gives, a wave; nil where there is no panel.
	Panel *Panel `json:"panel,omitempty"`
	// PublicColumns are the columns that a neighbour keeps: key columns of frames, and
	// immutable ones that releases count on.
	PublicColumns []string `json:"public_columns,omitempty"`
}

// Cap says in how many groups of a release a unit counts at most, and with how many rows
// in each.
type Cap struct {
	Groups int64 `json:"groups"`
	Rows   int64 `json:"rows"`
}

// DataTable is one of several private tables that are joined by the unit.
type DataTable struct {
	Name       string   `json:"name"`
	Population bool     `json:"population,omitempty"` // every unit has a row in it, and rows of others are left out of all tables
	UnitColumn string   `json:"unit_column"`
	MemberOf   string   `json:"member_of,omitempty"` // the table that says which unit a member belongs to, where UnitColumn names members
	UnitRows   string   `json:"unit_rows,omitempty"` // folded or capped; "" where a unit has at most one row
	UnitCap    *Cap     `json:"unit_cap,omitempty"`
	Takes      []string `json:"takes,omitempty"` // what its rows take from other tables
}

// Slice is the rows in which a public column has one value.
type Slice struct {
	Column string `json:"column"`
	Is     string `json:"is"`
}

// Periods says to whom the guarantee of a job with a series applies: to a unit that is in at most
// AtMost of Count periods, which costs Rho. Life is what one costs that is in all of them.
type Periods struct {
	Count  int `json:"count"`
	AtMost int `json:"at_most"`
	Apart  int `json:"apart"` // how far apart these lie at least
	// Held names the reason why a unit keeps to them: "cap" where it counts in its first ones alone, "row" where it is a row, ""
	// where nothing checks it.
	Held string `json:"held,omitempty"`
	Cost string `json:"cost"`
	Life string `json:"life"`
	Pure bool   `json:"pure,omitempty"` // both are in ε; else in ρ
}

// words are an amount with its symbol.
func (p *Periods) words(amount string) string {
	if p.Pure {
		return "ε " + amount
	}
	return "ρ " + amount
}

// HeldByCap is Periods.Held where a unit counts in its first periods alone.
const HeldByCap = "cap"

// Panel names the wave of a panel that a job is about. Collected says that somebody else drew the panel
// and the table is the wave; else the program draws the wave from the table.
type Panel struct {
	Wave      int64 `json:"wave"`
	Waves     int64 `json:"waves"`
	Collected bool  `json:"collected,omitempty"`
	// Again says that the wave was released before. The job's guarantee is then that of this release
	// alone, for units that are known to be in the wave, beside that of all waves.
	Again bool `json:"again,omitempty"`
}

// Guarantee is one charged guarantee and how it was found.
type Guarantee struct {
	Epsilon     float64               `json:"epsilon"`
	Delta       float64               `json:"delta"`
	Relation    privacy.Relation      `json:"relation"`
	Method      string                `json:"method"`
	Methods     map[string]float64    `json:"methods"`
	Unsupported []privacy.Unsupported `json:"unsupported,omitempty"`
	Claimed     []privacy.Claim       `json:"claimed,omitempty"`
	Event       json.RawMessage       `json:"event"`
	EventText   string                `json:"event_text"`
	// Attacker holds the chances that the whole profile of the event leaves to an attacker; nil of a draw and
	// of a release.
	Attacker *verdict.Attacker `json:"attacker,omitempty"`
}

// event reads the event: its canonical bytes, however the report is indented.
func (g Guarantee) event() (privacy.Event, error) {
	var b bytes.Buffer
	err := json.Compact(&b, g.Event)
	var e privacy.Event
	if err == nil {
		e, err = privacy.FromCanonical(b.Bytes())
	}
	if err == nil {
		err = privacy.Validate(e)
	}
	if err != nil {
		return nil, fmt.Errorf("the report's event cannot be read: %w", err)
	}
	return e, nil
}

// Judge finds what the guarantee of everything leaves to an attacker, once for whoever says it.
func (r *Report) Judge() error {
	g := &r.Guarantee
	event, err := g.event()
	if err != nil {
		return err
	}
	a := verdict.ProfileOf(event, g.Relation).Attacker(privacy.Point{Epsilon: g.Epsilon, Delta: g.Delta})
	g.Attacker = &a
	return nil
}

// attacker returns what Judge found. A guarantee that was not judged is known by its point alone.
func (g Guarantee) attacker() verdict.Attacker {
	if g.Attacker != nil {
		return *g.Attacker
	}
	return verdict.OfPoint(privacy.Point{Epsilon: g.Epsilon, Delta: g.Delta})
}

// Draw is one sample and everything released from it: one amplification (P4).
type Draw struct {
	Name            string             `json:"name"`
	Design          string             `json:"design"`
	Target          privacy.Point      `json:"target"`
	Sample          privacy.Point      `json:"sample_budget"`
	SampleRelations []privacy.Relation `json:"sample_relations"`
	// SampleArrival is the cost of the releases on the sample under add-remove, where
	// they may spend SampleBudget under replace-one because it is less.
	SampleArrival *privacy.Point `json:"sample_arrival,omitempty"`
	Efficiency    float64        `json:"efficiency,omitempty"`
	// PublicColumns are the key columns of the design's frame, and the columns that the
	// job declares immutable, where a release reads them and the design lets it count on
	// that: they are public, and a neighbour keeps them.
	PublicColumns []string       `json:"public_columns,omitempty"`
	Amplification *Amplification `json:"amplification,omitempty"`
	Guarantee     Guarantee      `json:"guarantee"`
	Releases      []string       `json:"releases"`
	// Kept is set for a draw that more than one job uses.
	Kept *Kept `json:"kept,omitempty"`
}

// Kept is the cost so far of a draw that several jobs use: everything released
// from it is composed on the sample and amplified once, and each job is charged the
// difference that it makes (P4). Figures are rounded up.
type Kept struct {
	ID     string `json:"id,omitempty"` // "" in the plan of a draw that was not made yet
	Reused bool   `json:"reused"`       // an earlier job made the draw
	Jobs   int64  `json:"earlier_jobs"`
	// What was spent on the sample before this job and with it.
	SampleBefore privacy.Point `json:"sample_before"`
	SampleAfter  privacy.Point `json:"sample_after"`
	// What the draw costs the population in all, before and after.
	Before  privacy.Point `json:"before"`
	After   privacy.Point `json:"after"`
	Charged privacy.Point `json:"charged"` // the difference
}

// All stands for the whole table where a sample has a name: as the name of a draw, and in From.
const All = "all"

// Release is one release.
type Release struct {
	Name      string          `json:"name"`
	From      string          `json:"from"`
	Mechanism Mechanism       `json:"mechanism"`
	Params    json.RawMessage `json:"params"`
	Where     string          `json:"where,omitempty"`  // the condition on a row
	Having    string          `json:"having,omitempty"` // the condition on the folded values of a unit
	By        []string        `json:"by,omitempty"`
	Keys      *Keys           `json:"keys,omitempty"`     // how the values of a column of by were found, where nobody lists them
	Suppress  *Suppress       `json:"suppress,omitempty"` // which of its groups are blank
	Weights   *Weights        `json:"weights,omitempty"`
	Limits    *Limits         `json:"limits,omitempty"`   // what is not in its values
	Interval  string          `json:"interval,omitempty"` // the level, in per cent, of the intervals for the population's values (P30)
	Target    privacy.Point   `json:"target"`
	Sample    privacy.Point   `json:"sample_budget"`
	Guarantee Guarantee       `json:"guarantee"`
	Price     *privacy.Point  `json:"price,omitempty"` // with the selection of its keys, where it pays for one
	Rho       *Rho            `json:"rho,omitempty"`   // where the guarantee was asked for in ρ
	Share     *Share          `json:"share,omitempty"` // where it is a part of the job's budget
	Expected  []ExpectedError `json:"expected_error,omitempty"`
	Verdict   string          `json:"verdict,omitempty"` // what the release says of itself
	// NoiseRatio is the noise over that which the full table would have needed, 0 where the
	// release reads the full table or its noise is not known.
	NoiseRatio float64    `json:"noise_ratio,omitempty"`
	Positions  *Positions `json:"positions,omitempty"`
	Fields     []Field    `json:"fields"`
	Files      []File     `json:"files,omitempty"`
}

// Priced writes down what the release adds to the sum of all: its own guarantee, and that of the selection of its keys where it
// pays for one.
func (e *Release) Priced() {
	if e.Keys != nil && e.Keys.Guarantee != nil {
		e.Price = &privacy.Point{Epsilon: SumUp(e.Guarantee.Epsilon, e.Keys.Guarantee.Epsilon),
			Delta: SumUp(e.Guarantee.Delta, e.Keys.Guarantee.Delta)}
	}
}

// Cost returns what Priced wrote down.
func (e Release) Cost() privacy.Point {
	if e.Price != nil {
		return *e.Price
	}
	return privacy.Point{Epsilon: e.Guarantee.Epsilon, Delta: e.Guarantee.Delta}
}

// Rho is a guarantee in ρ, in decimals. Target is the ε and δ that it stands for.
type Rho struct {
	Asked   string `json:"asked"`
	Charged string `json:"charged"` // of this release alone, rounded up
}

// Mechanism is the plugin that computed a release.
type Mechanism struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Builtin     bool   `json:"builtin"`
	SHA256      string `json:"sha256,omitempty"`
	SelfNoising bool   `json:"self_noising,omitempty"`
	// Sandbox names the confinement of the mechanism's processes.
	Sandbox string `json:"sandbox,omitempty"`
	// Result says of a third party's plugin who made the result: one of the constants below.
	Result string `json:"result,omitempty"`
}

// Unconfined returns the plugins of third parties that ran without a sandbox.
func (r *Report) Unconfined() []string {
	var out []string
	for _, e := range r.Releases {
		if m := e.Mechanism; !m.Builtin && m.Sandbox == unconfined && !slices.Contains(out, m.Name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// unconfined is the value of Mechanism.Sandbox for processes that nothing confined.
const unconfined = "none"

// What a result of a third party's plugin rests on.
const (
	// ResultEnforced: the host computed what each row adds, how far that moves the sums, and the result from the
	// noisy sums, as the plugin declared before any row was read. No code of the plugin saw one.
	ResultEnforced = "enforced"
	// ResultApart: the host computed it from the noisy sums alone, as the plugin declared before
	// any row was read.
	ResultApart = "apart"
	// ResultTrusted: the plugin saw rows and wrote it; the host rounded it.
	ResultTrusted = "trusted"
)

// ExpectedError is the plan's knowledge of an error before anybody reads the data.
type ExpectedError struct {
	Field   string  `json:"field"`
	NoiseSD float64 `json:"noise_sd,omitempty"`
	Half95  float64 `json:"half_95,omitempty"`
	Note    string  `json:"note,omitempty"`
	// OneEnd is the share of intervals of a quotient that have one end or none, as the job assumes; 0 where it assumes nothing.
	OneEnd float64 `json:"one_end,omitempty"`
	// Beside says in words what other noise would do at the same price, "" where nothing is to be said.
	Beside string `json:"beside,omitempty"`
	// Range is the largest distance between the values of two tables within the public bounds, without
	// its noise, 0 where that is not known.
	Range float64 `json:"range,omitempty"`
	// Sampling is the error that drawing the sample adds, nil where nothing is drawn or that is not known.
	Sampling *Sampling `json:"sampling,omitempty"`
	// PerRow is the standard deviation of the noise times the number of rows that the value is made of, at most; 0 where the
	// value is not divided by a secret number of rows.
	PerRow float64 `json:"noise_sd_times_rows,omitempty"`
	// Rank says that PerRow and Ranks are errors of the rank of a quantile.
	Rank bool `json:"rank,omitempty"`
	// Ranks is the error in shares of all ranks, where public facts tell how many there are, and values lie densely.
	Ranks *Even `json:"ranks,omitempty"`
	// Even is the error to expect where all rows count and are spread evenly over the groups, nil where nothing public says it.
	Even *Even `json:"even,omitempty"`
	// Size is the value that the public facts let expect, 0 where they let expect none.
	Size float64 `json:"-"`
	// Statistic is the quantity that the release estimates, as its plan says.
	Statistic string `json:"-"`
	// Unsure is the variance that an interval adds because it knows that of the draw with
	// noise only.
	Unsure float64 `json:"-"`
	// Ratio says that the value is a ratio of two sums, although the number of rows is public.
	Ratio bool `json:"-"`
}

// Field is one column of a release.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Doc  string `json:"doc,omitempty"`
	// Flags are the reasons that the column flag may hold for which values of a row are blank.
	Flags []string `json:"flags,omitempty"`
}

// File is one file of a release, relative to the report.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Budget is the state of the data set's budget account after this job, and the
// place of its debit in the ledger's chain.
type Budget struct {
	Ledger string `json:"ledger"` // the ledger's id
	// Address is the place of the ledger, without a password: in a release, a SQLite file
	// as seen from the job's folder; in a plan, with its whole path.
	Address string `json:"address,omitempty"`
	// Keeps are the columns in which every neighbour that the account protects is the
	// same (P27).
	Keeps        []string `json:"keeps,omitempty"`
	Sequence     int64    `json:"sequence"` // the record of the debit, 0 in a plan
	Head         string   `json:"head"`     // the hash of that record, "" in a plan
	Filter       string   `json:"filter"`
	LimitEpsilon string   `json:"limit_epsilon,omitempty"`
	LimitDelta   string   `json:"limit_delta,omitempty"`
	LimitRho     string   `json:"limit_rho,omitempty"` // in place of the two
	Amounts      []Amount `json:"amounts"`             // of the slice, where the job names one
	// Slices is the spend of the slices of the account; nil where it has none.
	Slices *Slices `json:"slices,omitempty"`
	Note   string  `json:"note,omitempty"`
}

// Slices is the spend of the slices of an account, this job included (P26): the largest
// one, which is the guarantee for a unit in one slice, and all of them together, which is
// the guarantee for a unit that is in each.
type Slices struct {
	Count   int64    `json:"count"`
	Largest []Amount `json:"largest"`
	Life    []Amount `json:"life"`
}

// Amount is one part of an account's arithmetic: spends rounded up, limits down.
type Amount struct {
	Unit  string `json:"unit"`
	Cost  string `json:"cost"`
	Spent string `json:"spent"`           // this job included
	Limit string `json:"limit,omitempty"` // empty where there is none
	Left  string `json:"left,omitempty"`
}

// WriteJSON writes report.json.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Sidecar is NAME.meta.json: one release, on its own.
type Sidecar struct {
	Version int     `json:"version"`
	Tool    Tool    `json:"tool"`
	Job     Job     `json:"job"`
	Dataset Dataset `json:"dataset"`
	Release Release `json:"release"`
}

// WriteJSON writes NAME.meta.json.
func (s *Sidecar) WriteJSON(w io.Writer) error { return writeJSON(w, s) }

// Publication is the account that a page gives of itself: words, which nothing depends on.
type Publication struct {
	Title     string `json:"title,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	Period    string `json:"period,omitempty"`   // what time the figures are about
	Contact   string `json:"contact,omitempty"`  // whom to ask
	Language  string `json:"language,omitempty"` // of the page, en where there is none
	// Notes are sentences for readers. Labels are their words for releases, columns, units and values that have another name in the
	// files; “COLUMN = VALUE” is a value of one column.
	Notes  []string          `json:"notes,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Anew says that these words are younger than the figures. It stands in no report.json.
	Anew bool `json:"-"`
	// What only a person knows of a publication, for the registry of deployments.
	Published     string   `json:"published,omitempty"` // the day, as 2026-10-31
	IntendedUse   string   `json:"intended_use,omitempty"`
	Region        string   `json:"region,omitempty"`
	Sector        string   `json:"sector,omitempty"`
	Sources       []string `json:"sources,omitempty"`
	Justification string   `json:"justification,omitempty"`
}
