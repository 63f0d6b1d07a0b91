package expr

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// TestHostileTexts gives texts made to hang, to exhaust memory or to overflow
// a stack. Each must be refused with a place, quickly.
func TestHostileTexts(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"repeat":{"n":1,"event":`, n) + `{"pure":{"eps":1}}` + strings.Repeat(`}}`, n)
	}
	deepYAML := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%srepeat:\n%sn: 1\n%sevent:\n", strings.Repeat(" ", 2*i), strings.Repeat(" ", 2*i+1), strings.Repeat(" ", 2*i+1))
		}
		return b.String()
	}
	var bomb strings.Builder
	bomb.WriteString("compose:\n- &a0 {pure: {eps: 1}}\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&bomb, "- &a%d {compose: [%s]}\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	texts := map[string]string{
		"a thousand deep, JSON":      deep(1000),
		"a thousand deep, YAML":      deepYAML(300),
		"a thousand deep, YAML flow": strings.ReplaceAll(deep(1000), `"`, ""),
		"brackets":                   strings.Repeat("[", MaxBytes),
		"braces":                     strings.Repeat("{", MaxBytes),
		"braces with keys":           strings.Repeat(`{"a":`, MaxBytes/5),
		"yaml braces with keys":      strings.Repeat(`{a: `, MaxBytes/4),
		"yaml dashes":                strings.Repeat("- ", MaxBytes/2),
		"yaml questions":             strings.Repeat("? ", MaxBytes/2),
		"yaml colons":                strings.Repeat(": ", MaxBytes/2),
		"yaml anchors":               strings.Repeat("&a ", MaxBytes/3),
		"yaml tags":                  strings.Repeat("!a ", MaxBytes/3),
		"yaml comments":              strings.Repeat("#\n", MaxBytes/2),
		"yaml comments and keys":     strings.Repeat("a:\n#\n", MaxBytes/5),
		"yaml quotes":                strings.Repeat(`"`, MaxBytes),
		"yaml documents":             strings.Repeat("---\n", MaxBytes/4),
		"yaml percent":               strings.Repeat("%a\n", MaxBytes/3),
		"yaml block scalar":          "a: |\n" + strings.Repeat(" \n", MaxBytes/2-5),
		"yaml keys":                  strings.Repeat("a: 1\n", MaxBytes/5),
		"alias bomb":                 bomb.String(),
		"numbers":                    `{"compose":[` + strings.Repeat("1,", MaxBytes/2-10) + `1]}`,
		"events":                     `{"compose":[` + strings.Repeat(`{"pure":{"eps":1}},`, 20000) + `{"pure":{"eps":1}}]}`,
		"bad events":                 `{"compose":[` + strings.Repeat(`{"p":0},`, 9000) + `{"pure":{"eps":1}}]}`,
		"100 MB":                     `{"pure":{"eps":1}}` + strings.Repeat(" ", 100<<20),
		"zeros":                      `{"pure":{"eps":1` + strings.Repeat("0", 1000000) + `}}`,
		"long key":                   `{"` + strings.Repeat("a", 1000000) + `":1}`,
		"huge exponent":              `{repeat: {n: 1e999999999, event: {pure: {eps: 1}}}}`,
		"tiny exponent":              `{repeat: {n: 1e-999999999, event: {pure: {eps: 1}}}}`,
		"bytes":                      string(bytes.Repeat([]byte{0xff, 0xfe}, 1000)),
	}
	for name, text := range texts {
		start := time.Now()
		_, problems := Parse([]byte(text), "f")
		took := time.Since(start)
		if len(problems) == 0 {
			t.Errorf("%s: accepted", name)
			continue
		}
		// The slowest takes half a second on one idle core; a quadratic one
		// would take minutes.
		if took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
		if len(problems) > maxProblems || len(problems.Error()) > 64<<10 {
			t.Errorf("%s: %d problems of %d bytes", name, len(problems), len(problems.Error()))
		}
		t.Logf("%-28s %8v  %s", name, took.Round(time.Millisecond), problem.Shorten(problems[0].Error(), 160))
	}
}

func TestDepthThatIsAllowed(t *testing.T) {
	for n, ok := range map[int]bool{MaxDepth - 1: true, MaxDepth: false} {
		text := strings.Repeat(`{"repeat":{"n":1,"event":`, n) + `{"pure":{"eps":1}}` + strings.Repeat(`}}`, n)
		if _, problems := Parse([]byte(text), ""); (problems == nil) != ok {
			t.Errorf("%d events around one: %v", n, problems)
		}
	}
}
