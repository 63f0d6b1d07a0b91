package report

import (
	"cmp"
	"html/template"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/internal/say/figure"
	"github.com/dprelease/dprelease/internal/say/verdict"
)

// verdictView is the judgement of one release's worth. Grade is a word for the style sheet: poor,
// fair or good.
type verdictView struct {
	Release, Grade, Label, Text string
	Shown                       string // what readers call the release
	Noise                       string // how large it is beside the value
	First                       []shownValue
	More                        int // values that are not among the first
	ID                          int
	Drawn                       bool // the page has its results
}

// The first screen shows at most so many values, and of one release so many.
const (
	shownVerdicts = 12
	shownValues   = 4
)

// poorFirst puts the releases that must not be overlooked before the others; both keep the order of the job.
func poorFirst(all []verdictView) []verdictView {
	poor := func(v verdictView) bool { return v.Grade == "poor" }
	out := slices.DeleteFunc(slices.Clone(all), func(v verdictView) bool { return !poor(v) })
	return append(out, slices.DeleteFunc(slices.Clone(all), poor)...)
}

// Name returns the name of the release, which may be broken after an underscore.
func (v verdictView) Name() template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(v.Shown), "_", "_<wbr>")) //nolint:gosec // escaped
}

// firstScreen returns the releases that are poor, and then the others in the order of the job, with at most so many values in all,
// and how many releases are left out.
func firstScreen(all []verdictView, results []*result) (shown []verdictView, left int) {
	room := shownVerdicts
	for i, v := range poorFirst(all) {
		if room == 0 {
			return shown, len(all) - i
		}
		values, n := results[v.ID].firstValues(min(room, shownValues))
		if len(values) == 0 {
			values = []shownValue{{}}
		}
		v.First, v.More = values, max(n-len(values), 0)
		room -= len(values)
		shown = append(shown, v)
	}
	return shown, 0
}

// Chance says a guarantee as the chance of an attacker, without a full stop.
func Chance(g Guarantee, d Dataset) string { return chance(wordsIn("en"), g, d) }

func chance(w words, g Guarantee, d Dataset) string {
	return g.attacker().Chance(w.Words, g.Relation, w.one(d), d.Place())
}

// promise lists the guarantees of everything that was released, and where they are weak.
func promise(w words, r *Report) []document.Part {
	out := []document.Part{{Label: w.t("promise.meaning"), Text: chance(w, r.Guarantee, r.Dataset)}}
	for _, c := range cautions(w, r.Guarantee, r.Dataset) {
		out = append(out, document.Part{Label: w.t("promise.caution"), Text: c, Class: document.Warn})
	}
	if text := r.Dataset.Panel.text(w); text != "" {
		out = append(out, document.Part{Label: w.t("terminal.panel"), Text: text})
	}
	for _, l := range r.Levels {
		out = append(out, document.Part{Label: l.label(w), Text: l.text(w, r.Dataset)})
	}
	for _, b := range r.Believed {
		out = append(out, document.Part{Label: w.t("believed.not_checked"), Text: w.t("believed." + string(b)), Class: document.Quiet})
	}
	if text := r.Look.text(w); text != "" {
		out = append(out, document.Part{Label: w.t("look.label"), Text: text, Class: document.Quiet})
	}
	return out
}

// headline fills what stands on the first screen.
func (v *view) headline(r *Report) {
	v.Title = r.Job.Name
	if pub := r.Publication; pub != nil {
		v.Title = cmp.Or(pub.Title, v.Title)
		v.Publisher, v.Period, v.Contact, v.Notes, v.Anew = pub.Publisher, pub.Period, pub.Contact, pub.Notes, pub.Anew
	}
	v.Lede = lede(v.words, r)
	v.Meter = meter(v.words, r.Guarantee.attacker().Guess)
	v.Chance, v.Promise = v.Promise[0].Text, v.Promise[1:]
}

// lede says in one sentence what was released.
func lede(w words, r *Report) string {
	var kinds []string
	for _, e := range r.Releases {
		kinds = appendNew(kinds, w.Or("mechanism."+e.Mechanism.Name, e.Mechanism.Name))
	}
	if len(kinds) > 3 {
		kinds = append(kinds[:3], "…")
	}
	data := r.Dataset.ID
	if s := r.Dataset.Slice; s != nil {
		data += " (" + s.Column + " = " + s.Is + ")"
	}
	if s := r.Dataset.Snapshot; s != "" {
		data += " (" + w.t("lede.snapshot", s) + ")"
	}
	name := "lede.many"
	if len(r.Releases) == 1 {
		name = "lede.one"
	}
	text := w.t(name, grouped(int64(len(r.Releases))), strings.Join(kinds, ", "), data)
	if r.Dataset.Population > 0 {
		text += " " + w.t("lede.size", grouped(r.Dataset.Population), w.many(r.Dataset))
	}
	return text
}

// one and many are what is protected, in the page's language where the job has no word.
func (w words) one(d Dataset) string {
	if d.One() == "row" {
		return w.t("unit.row")
	}
	return w.labels.Label(d.One())
}

func (w words) many(d Dataset) string {
	if d.Many() == "rows" {
		return w.t("unit.rows")
	}
	return w.labels.Label(d.Many())
}

// meter draws the attacker's chance between guessing and certainty.
func meter(w words, chance float64) template.HTML {
	d := &figure.Drawing{Width: 340, Height: 52}
	const left, right = 6.0, 334.0
	x := func(p float64) float64 { return left + (p-0.5)*2*(right-left) }
	at := x(math.Min(math.Max(chance, 0.5), 1))
	d.Rect(left, 18, right-left, 10, "track", 1)
	d.Rect(left, 18, math.Max(at-left, 1), 10, "level", 1)
	d.Line(at, 13, at, 33, "main")
	d.Text(left, 47, "start", "small", "50 "+w.t("chance.guess"))
	d.Text(right, 47, "end", "small", "100 "+w.t("chance.certain"))
	anchor := "middle"
	if at > right-20 {
		anchor = "end"
	} else if at < left+20 {
		anchor = "start"
	}
	d.Text(at, 10, anchor, "strong", verdict.InHundred(chance))
	return d.Ornament()
}

// gauge draws how much of a budget was spent before, by this job, and is left. A spend is
// never drawn shorter than it is.
func gauge(a Amount) template.HTML {
	share := func(text string) float64 {
		x, ok1 := new(big.Rat).SetString(text)
		limit, ok2 := new(big.Rat).SetString(a.Limit)
		if !ok1 || !ok2 || limit.Sign() <= 0 {
			return 0
		}
		f, _ := x.Quo(x, limit).Float64()
		return math.Min(math.Max(f, 0), 1)
	}
	spent := share(a.Spent)
	before := math.Max(spent-share(a.Cost), 0)
	d := &figure.Drawing{Width: 340, Height: 14}
	d.Rect(0, 0, 340, 14, "track", 1)
	d.Rect(0, 0, 340*spent, 14, "level", 1)
	d.Rect(0, 0, 340*before, 14, "past", 1)
	return d.Ornament()
}

// verdict judges one release by what is public: whether its noise swamps it, what sampling
// did to it, and how large its noise is beside the released values.
func (r *result) verdict(report *Report, id int) verdictView {
	e, w := r.release, r.w
	v := verdictView{Release: e.Name, Shown: w.labels.Label(e.Name), ID: id}
	drowned := false
	if shares := r.shares; len(shares) > 0 {
		if e.countsUnits() { // the rows in all: hardly any unit has very many, so other numbers are noise wherever they are small
			shares = shares[:1]
		}
		share := middle(shares)
		v.Noise = noiseText(w, share, len(shares) > 1)
		drowned = share > 0.5
	}
	flags := r.columns["flag"].Texts
	blank, reason := 0, ""
	oneEnd := r.oneEnds()
	for i, f := range flags {
		if f != "" && oneEnd(i) == "" {
			blank, reason = blank+1, f
		}
	}
	useless := ""
	for _, x := range e.Expected {
		if useless = x.Useless(); useless != "" {
			break
		}
	}
	rate := report.rate(e.From)
	switch {
	case len(r.table.Columns) > 0 && r.table.rows() == 0 && e.Keys != nil:
		v.Grade, v.Label, v.Text = "poor", w.t("verdict.empty_label"), w.t("verdict.empty", e.Keys.Column)
		return v
	case useless != "":
		v.Grade, v.Label, v.Text = "poor", w.t("verdict.useless_label"), w.t("verdict.useless")
		return v
	case blank > 0 && blank == len(flags):
		v.Grade, v.Label, v.Text = "poor", w.t("verdict.useless_label"), w.t("verdict.blank", w.note(reason))
		return v
	case drowned:
		v.Grade, v.Label, v.Text = "poor", w.t("verdict.drowned_label"), w.t("verdict.drowned")
	case e.NoiseRatio > 1.005:
		times := plain(e.NoiseRatio, 2)
		if e.NoiseRatio < 1.1 { // not “1 times”
			times = plain(e.NoiseRatio, 4)
		}
		v.Grade, v.Label = "fair", w.t("verdict.worse_label", times)
		v.Text = w.t("verdict.worse", times, rate)
	case e.From != All && e.NoiseRatio > 0:
		v.Grade, v.Label, v.Text = "good", w.t("verdict.better_label"), w.t("verdict.better", rate)
	case e.From != All:
		v.Grade, v.Label, v.Text = "fair", w.t("verdict.sampled_label"), w.t("verdict.sampled", rate)
	case report.Dataset.Collected != nil || e.Weights != nil:
		v.Grade, v.Label, v.Text = "good", w.t("verdict.survey_label"), w.t("verdict.survey")
	default:
		v.Grade, v.Label, v.Text = "good", w.t("verdict.whole_label"), w.t("verdict.whole")
	}
	if marked := e.marked(w); e.Partial() && v.Grade == "good" {
		v.Grade, v.Label, v.Text = "fair", w.t("verdict.part_label", marked), w.t("verdict.part")
	}
	if blank > 0 {
		v.Label, v.Text = w.t("verdict.some_label", blank, len(flags)), w.t("verdict.some", w.note(reason))+" "+v.Text
		if v.Grade == "good" {
			v.Grade = "fair"
		}
		return v
	}
	if e.Verdict != "" {
		if e.From == All { // what the release says of itself
			v.Grade, v.Label = "fair", w.t("verdict.note_label")
			v.Text = Sentence(w.note(e.Verdict))
		}
	}
	if e.Mechanism.SelfNoising {
		v.Grade, v.Text = "poor", w.t("verdict.self_noising")+" "+v.Text
		v.Label = w.t("verdict.self_noising_label")
	}
	return v
}

// rate writes the rate of a draw, "" for one that amplifies nothing.
func (r *Report) rate(draw string) (text string) {
	for _, d := range r.Draws {
		if d.Name == draw && d.Amplification != nil {
			text = percent(d.Amplification.Rate)
		}
	}
	return text
}

// noiseText describes how large the noise is beside the value, or beside one of several.
func noiseText(w words, share float64, several bool) string {
	switch percent := plain(100*share, 2) + " %"; {
	case share < 0.0005 && several:
		return w.t("verdict.noises_small")
	case share < 0.0005:
		return w.t("verdict.noise_small")
	case several:
		return w.t("verdict.noises", percent)
	default:
		return w.t("verdict.noise", percent)
	}
}
