package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// History is what was spent from one account over time.
type History struct {
	Dataset, About string
	Units          []string // that the amounts count in
	Limits         []string // in decimals, "" where there is none
	SlicesBy       string   // the column of the slices; the limits are then for each slice
	Steps          []Step   // the oldest first
	Notes          []Note   // what else was done to the account
	Slices         []SliceSpent
}

// Step is one debit of an account.
type Step struct {
	At                         time.Time
	Job, By, Slice, State, Sum string
	Cost                       []*big.Rat // in the account's units
}

// Note is anything but spending.
type Note struct{ At, Text string }

// SliceSpent is what one slice has spent, in the account's units.
type SliceSpent struct {
	Is    string
	Spent []*big.Rat
}

//go:embed history.html.tmpl
var historyText string

// accountView is an account as its page shows it.
type accountView struct {
	History
	Pictures []template.HTML
	Jobs     []shareView
	BySlice  []shareView
	Chapter  int
	Unit     string
}

// shareView is what one job or one slice has spent.
type shareView struct {
	Name, Spent string
	Runs        int
	Bar         template.HTML
}

// mostSlicesShown is how many slices and jobs a page lists, those that spent most.
const mostSlicesShown = 60

// WriteHistory writes the page of a ledger. It is private: it says who spent what when.
func WriteHistory(w io.Writer, ledger string, all []History) error {
	t, err := template.New("history").Funcs(template.FuncMap{"dash": orDash, "dict": dict}).Parse(historyText)
	if err != nil {
		return err
	}
	var views []accountView
	for i, h := range all {
		views = append(views, h.view(i))
	}
	var body bytes.Buffer
	if err := t.Execute(&body, map[string]any{"Ledger": ledger, "Accounts": views}); err != nil {
		return err
	}
	return Document(w, "The budget of "+ledger, template.HTML(body.String())) //nolint:gosec // a template escaped it
}

// dict names the values that a template hands to another one.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

func (h History) view(chapter int) accountView {
	v := accountView{History: h, Chapter: chapter}
	shown := h.shownUnits()
	for _, u := range shown {
		if p := h.stairs(u, fmt.Sprintf("h%d-%d", chapter, u)); p != "" {
			v.Pictures = append(v.Pictures, p)
		}
	}
	if len(shown) == 0 {
		return v
	}
	u := shown[0]
	v.Unit = h.Units[u]
	runs, spent := map[string]int{}, map[string]*big.Rat{}
	var jobs []string
	for _, s := range h.Steps {
		if spent[s.Job] == nil {
			spent[s.Job] = new(big.Rat)
			jobs = append(jobs, s.Job)
		}
		runs[s.Job]++
		if u < len(s.Cost) {
			spent[s.Job].Add(spent[s.Job], s.Cost[u])
		}
	}
	top := new(big.Rat)
	for _, x := range spent {
		if x.Cmp(top) > 0 {
			top = x
		}
	}
	for _, job := range jobs {
		v.Jobs = append(v.Jobs, shareView{job, fourDigits(spent[job], true), runs[job], share(spent[job], top)})
	}
	limit, ok := new(big.Rat).SetString(h.Limits[u])
	for _, s := range h.Slices {
		if !ok || limit.Sign() == 0 {
			limit, ok = s.Spent[u], true
		}
		v.BySlice = append(v.BySlice, shareView{Name: s.Is, Spent: fourDigits(s.Spent[u], true), Bar: share(s.Spent[u], limit)})
	}
	v.Jobs, v.BySlice = v.Jobs[:min(len(v.Jobs), mostSlicesShown)], v.BySlice[max(0, len(v.BySlice)-mostSlicesShown):]
	return v
}

// shownUnits are the units that are drawn. An account that counts in many orders holds as
// long as one of them does: the one that is furthest from its limit is drawn.
func (h History) shownUnits() []int {
	total := h.totals()
	share := func(u int) float64 {
		limit, ok := new(big.Rat).SetString(h.Limits[u])
		if !ok || limit.Sign() <= 0 {
			return math.Inf(1)
		}
		f, _ := new(big.Rat).Quo(total[u], limit).Float64()
		return f
	}
	if len(h.Units) > 2 {
		best := 0
		for u := range h.Units {
			if share(u) < share(best) {
				best = u
			}
		}
		return []int{best}
	}
	var out []int
	for u := range h.Units {
		if total[u].Sign() > 0 || u == 0 {
			out = append(out, u)
		}
	}
	return out
}

// totals returns what all steps have spent.
func (h History) totals() []*big.Rat {
	out := make([]*big.Rat, len(h.Units))
	for u := range out {
		out[u] = new(big.Rat)
		for _, s := range h.Steps {
			if u < len(s.Cost) {
				out[u].Add(out[u], s.Cost[u])
			}
		}
	}
	return out
}

// share draws a part of a whole. It is never drawn shorter than it is.
func share(part, whole *big.Rat) template.HTML {
	f := 0.0
	if whole.Sign() > 0 {
		f, _ = new(big.Rat).Quo(part, whole).Float64()
	}
	d := &figure.Drawing{Width: 200, Height: 10}
	d.Rect(0, 0, 200, 10, "track", 1)
	d.Rect(0, 0, 200*math.Min(f, 1), 10, "level", 1)
	return d.Ornament()
}

// stairs draws the spent budget over time, a step for each debit.
func (h History) stairs(u int, id string) template.HTML {
	if len(h.Steps) == 0 {
		return ""
	}
	first, last := h.Steps[0].At, h.Steps[len(h.Steps)-1].At
	from, to := float64(first.Unix()), float64(last.Unix())
	pad := math.Max((to-from)*0.06, 1800)
	from, to = from-pad, to+pad
	sum := new(big.Rat)
	points := []figure.Point{{X: from, Y: 0}}
	for _, s := range h.Steps {
		if u >= len(s.Cost) {
			continue
		}
		at := float64(s.At.Unix())
		before, _ := sum.Float64()
		after, _ := sum.Add(sum, s.Cost[u]).Float64()
		points = append(points, figure.Point{X: at, Y: before}, figure.Point{X: at, Y: after})
	}
	top, _ := sum.Float64()
	points = append(points, figure.Point{X: to, Y: top})
	keys := []figure.Key{{Class: "main", Name: "spent"}}
	limit, limited := new(big.Rat).SetString(h.Limits[u])
	at := 0.0
	if limited = limited && h.SlicesBy == ""; limited {
		at, _ = limit.Float64()
		keys = append(keys, figure.Key{Class: "other", Name: "limit"})
	}
	high := math.Max(top, at) * 1.05
	if !(high > 0) {
		return ""
	}
	f := figure.NewFrame(figure.Axis{Name: "time (UTC)", Min: from, Max: to, Ticks: days{}},
		figure.Axis{Name: h.Units[u] + " spent", Min: 0, Max: high, Ticks: figure.Even(brief)}, keys...)
	f.Curve(points, "main")
	if limited {
		f.Curve([]figure.Point{{X: from, Y: at}, {X: to, Y: at}}, "other")
	}
	return f.HTML(id, "Budget of "+h.Dataset+" over time", fmt.Sprintf("%d debits have spent %s of %s, from %s to %s.", len(h.Steps), fourDigits(sum, true),
		orDash(h.Limits[u]), first.UTC().Format("2006-01-02"), last.UTC().Format("2006-01-02")))
}

// days marks an axis of seconds with four dates, or with times within one day.
type days struct{}

// Ticks are at equal distances.
func (days) Ticks(lo, hi float64) []figure.Tick {
	layout := "2006-01-02"
	if hi-lo < 3*24*3600 {
		layout = "02 Jan 15:04"
	}
	var out []figure.Tick
	for k := range 4 {
		v := lo + (hi-lo)*(0.06+0.88*float64(k)/3)
		out = append(out, figure.Tick{Value: v, Label: time.Unix(int64(v), 0).UTC().Format(layout)})
	}
	return out
}

// LimitWords are the limits of the account.
func (h History) LimitWords() string {
	var out []string
	for u, l := range h.Limits {
		if l != "" && (u < 2 || len(h.Units) <= 2) {
			out = append(out, h.Units[u]+" "+l)
		}
	}
	text := strings.Join(out, ", ")
	if h.SlicesBy != "" {
		text += " for each " + h.SlicesBy
	}
	return text
}

// Newest are the debits, the newest first.
func (h History) Newest() []Step {
	out := slices.Clone(h.Steps)
	slices.Reverse(out)
	return out
}
