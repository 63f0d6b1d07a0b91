package german

import (
	"html"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/report"
)

// Check makes the German page of a report, and finds nothing English on it but the job's own words and the titles of papers.
func Check(t testing.TB, r *report.Report, values map[string]report.Table) {
	t.Helper()
	r.Publication = &report.Publication{Title: "Zahlen", Language: "de"}
	names := []string{r.Job.Name, r.Dataset.ID}
	all := []report.Guarantee{r.Guarantee}
	for _, d := range r.Draws {
		all = append(all, d.Guarantee)
	}
	for _, e := range r.Releases {
		names, all = append(names, e.Name, report.ParamsText(e.Params)), append(all, e.Guarantee)
	}
	for _, g := range all {
		for _, c := range g.Claimed {
			names = append(names, c.Source)
		}
	}
	p, err := report.NewPage(r)
	var page strings.Builder
	if err != nil || p.WriteHTML(&page, io.Discard, r, values) != nil {
		t.Fatal("no page", err)
	}
	for _, text := range English(page.String(), names...) {
		t.Errorf("a German page says: %s", text)
	}
}

var (
	// apart are the parts of a page that are for programs, or quote: styles, code, digests, and texts that say they are English.
	apart = regexp.MustCompile(`(?s)<style>.*?</style>|<code>.*?</code>|<(\w+)[^>]*(?:class="digest"|lang="en")[^>]*>[^<]*</`)
	texts = regexp.MustCompile(`>([^<>]+)<`)
	plain = regexp.MustCompile(
		`(?:^|[ (“])(?:the|of|is|are|and|with|from|by|for|not|that|which|only|than|without|rows|noise|each|where|it)(?:[ ,.;)”]|$)`)
	blank = regexp.MustCompile(`%(?:\\\[\d\\\])?(?:\\\.0)?[sd]`)
)

// English returns the texts of a German page that are English. Names are the job's own words, which are as they are.
func English(page string, names ...string) (found []string) {
	var sentences []*regexp.Regexp
	for name, text := range sentence.In("en").Texts {
		if letters := blank.ReplaceAllString(regexp.QuoteMeta(text), ""); len(letters) > 12 && strings.Contains(letters, " ") &&
			text != sentence.In("de").Texts[name] {
			sentences = append(sentences,
				regexp.MustCompile(`^`+strings.ReplaceAll(blank.ReplaceAllString(regexp.QuoteMeta(text), `.*`), `%%`, `%`)+`\.?$`))
		}
	}
	for _, m := range texts.FindAllStringSubmatch(apart.ReplaceAllString(page, "<"), -1) {
		text := strings.TrimSpace(html.UnescapeString(m[1]))
		for _, name := range names {
			text = strings.ReplaceAll(text, name, "…")
		}
		if plain.MatchString(text) || strings.Contains(text, "%!") {
			found = append(found, text)
			continue
		}
		for _, s := range sentences {
			if s.MatchString(text) {
				found = append(found, text)
				break
			}
		}
	}
	return found
}
