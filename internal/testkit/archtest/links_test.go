package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inline  = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mention = regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md(#[a-z0-9-]+)?`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
)

// TestLinks follows every link of every page, and every page of docs/ that a source, a message or a schema names, to its
// file and to its heading.
func TestLinks(t *testing.T) {
	const root = "../../.."
	headings := map[string]map[string]bool{} // by page, as they are asked for
	follow := func(from, to, place string) {
		text, err := os.ReadFile(to)
		if _, there := os.Stat(to); there != nil {
			t.Errorf("%s: %s is not there", from, to)
		} else if err == nil && place != "" && filepath.Ext(to) == ".md" {
			if headings[to] == nil {
				headings[to] = headingsOf(string(text))
			}
			if !headings[to][place] {
				t.Errorf("%s: %s has no heading %s", from, to, place)
			}
		}
	}
	links, mentions := 0, 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() || !slices.Contains([]string{".md", ".go", ".yaml", ".json", ".proto", ".py", ".html", ".R"}, filepath.Ext(file)) {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if filepath.Ext(file) == ".md" {
			prose := inline.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), "")
			for _, m := range link.FindAllStringSubmatch(prose, -1) {
				to, place, _ := strings.Cut(m[1], "#")
				switch {
				case strings.Contains(to, "://"), strings.HasPrefix(to, "mailto:"):
					continue
				case to == "":
					to = file
				default:
					to = filepath.Join(filepath.Dir(file), to)
				}
				links++
				follow(file, to, place)
			}
		}
		for _, m := range mention.FindAllString(string(text), -1) {
			to, place, _ := strings.Cut(m, "#")
			mentions++
			follow(file, filepath.Join(root, to), place)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 300 || mentions < 100 {
		t.Errorf("only %d links and %d names of pages were found", links, mentions)
	}
}

// headingsOf returns the addresses that forges give to the headings of a page.
func headingsOf(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		out[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)] = true
	}
	return out
}
