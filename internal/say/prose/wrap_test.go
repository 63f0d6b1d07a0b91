package prose

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		in, out string
	}{
		{"nothing", 40, "", ""},
		{"an empty line stays", 40, "a\n\nb\n", "a\n\nb\n"},
		{"no line end at the end stays so", 40, "a", "a"},
		{"what fits exactly is not touched", 40, strings.Repeat("abcd ", 7) + "abcde\n", strings.Repeat("abcd ", 7) + "abcde\n"},
		{"spaces at the end go", 40, strings.Repeat("abcd ", 7) + "abcde   \n  \n", strings.Repeat("abcd ", 7) + "abcde\n\n"},
		{"a sensitivity", 40, "discrete_laplace(scale=2.000, add-remove 1, replace-one 2)\n", "discrete_laplace(scale=2.000,\n  add-remove 1, replace-one 2)\n"},
		{"prose hangs", 40, "job.yaml:14:7: samples.srs.size: must be at most dataset.size (8000 > 6194)\n",
			"job.yaml:14:7: samples.srs.size: must be\n  at most dataset.size (8000 > 6194)\n"},
		{"the name of a file may hold spaces", 40, "the jobs of last year/and of this year/job.yaml:14:7: is missing\n",
			"the jobs of last year/and of this year/job.yaml:14:7:\n  is missing\n"},
		{"no place", 40, "the jobs of last year and of this year:7: is missing\n", "the jobs of last year and of this\n  year:7: is missing\n"},
		{"prose keeps its indent", 40, "    debited: at work now, or cut off before its releases were stored\n",
			"    debited: at work now, or cut off\n      before its releases were stored\n"},
		{"a label and what it says", 60, "  verdict       the noise of a total is at least 2.16 times that of the full table\n",
			"  verdict       the noise of a total is at least 2.16 times\n                  that of the full table\n"},
		{"what goes on without a label", 60, "  error         the noise\n                sampling alone has standard deviation at most 13.2, whatever\n",
			"  error         the noise\n                sampling alone has standard deviation at\n                  most 13.2, whatever\n"},
		{"no room beside the label", 40, "  expected error               estimate (api99): noise alone\n                               sampling: nothing\n  verdict                      none\n                               none\n",
			"  expected error\n      estimate (api99): noise alone\n      sampling: nothing\n  verdict                      none\n                               none\n"},
		{"no room, and a long line that goes on", 40, "  error                        estimate (api99): noise alone\n                               sampling: nothing, the whole table was read\n",
			"  error\n      estimate (api99): noise alone\n      sampling: nothing, the whole table\n        was read\n"},
		{"a table is not broken", 40, "  Burgenland    548         2.799179    542          554           548         \n",
			"  Burgenland    548         2.799179    542          554           548\n"},
		{"but for words in its last column", 60, "shuffle  –              no: the expression is not one shuffle of local reports\n",
			"shuffle  –              no: the expression is not one\n                        shuffle of local reports\n"},
		{"a row that says nothing in its first columns", 60, "                                  enrolment_by_type             ε 0.223266, δ 0 on its own\n",
			"                                  enrolment_by_type             ε 0.223266, δ 0 on its own\n"},
		{"a comparison", 40, "samples.srs.size: must be at most (8000 > 6194)\n", "samples.srs.size: must be at most\n  (8000 > 6194)\n"},
		{"a row with tabs", 30, "  ->\t2000.125\ta category of the table\t1.000000001\n", "  ->\t2000.125\ta category of the table\t1.000000001\n"},
		{"a day and its time", 40, "and nothing can be spent be 2030-01-02 15:04:05Z\n", "and nothing can be spent be\n  2030-01-02 15:04:05Z\n"},
		{"commands in turn", 40, "wrote a; next: cd a && go mod download && go test\n", "wrote a; next: cd a && go mod\n  download && go test\n"},
		{"a long word is not broken", 40, "ledger 7da9649943343c95dc66925976d55ee3: 5 records up to cfb60840a9839732855a4efd38c21ffb6383ba4e00e66c5fc6c35d36c543fa37 agree\n",
			"ledger 7da9649943343c95dc66925976d55ee3:\n  5 records up to\n  cfb60840a9839732855a4efd38c21ffb6383ba4e00e66c5fc6c35d36c543fa37\n  agree\n"},
		{"a long word beside a label", 40, "  digest    cfb60840a9839732855a4efd38c21ffb6383ba4e00e66c5fc6c35d36c543fa37\n",
			"  digest    cfb60840a9839732855a4efd38c21ffb6383ba4e00e66c5fc6c35d36c543fa37\n"},
		{"columns, not bytes", 40, "ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε\n", "ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε ε\n"},
		{"wide characters take two", 40, "学校学校学校学校学校 学校学校学校学校学校\n", "学校学校学校学校学校\n  学校学校学校学校学校\n"},
		{"a symbol and its number", 40, "the population is charged at most xx ε 0.4045, δ 1e-6 in all\n",
			"the population is charged at most xx\n  ε 0.4045, δ 1e-6 in all\n"},
		{"a part of a whole", 40, "srswor(discrete_laplace(0000), (142 of 142 rows))\n", "srswor(discrete_laplace(0000),\n  (142 of 142 rows))\n"},
		{"of, without two numbers", 40, "the larger one is the smaller one's half of 142 rows\n", "the larger one is the smaller one's half\n  of 142 rows\n"},
		{"per cent", 40, "does not rule out that it is right in 95.3 % of cases\n", "does not rule out that it is right in\n  95.3 % of cases\n"},
		{"a number in groups", 40, "a further 1e-6 at most, which is 1 in 1 000 000 cases\n", "a further 1e-6 at most, which is 1 in\n  1 000 000 cases\n"},
		{"a command", 40, "look at it first, for example with dprelease ledger verify\n", "look at it first, for example with\n  dprelease ledger verify\n"},
	} {
		if got := Wrap(c.in, c.columns); got != c.out {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.out)
		}
	}
}

func TestColumns(t *testing.T) {
	for in, want := range map[int]int{0: 40, 39: 40, 40: 40, 80: 80, 100: 100, 300: 100} {
		if got := Columns(in); got != want {
			t.Errorf("%d: %d, want %d", in, got, want)
		}
	}
}

// Whatever the text and the width: the words stay the same and in order, a line of
// several words fits, and wrapping again changes nothing of what is broken.
func TestWordsStay(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"ε", "0.4,", "δ", "1e-6", "a", "noise", "12.9", "%", "1", "000", "out/report.html", "—", "学校", strings.Repeat("f", 64), "job.yaml:3:7:", "=", "dprelease", "ledger"}
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(4) {
			b.WriteString(strings.Repeat(" ", rng.IntN(40)))
			for range rng.IntN(30) {
				b.WriteString(pieces[rng.IntN(len(pieces))] + strings.Repeat(" ", 1+rng.IntN(40)/37))
			}
			b.WriteString("\n")
		}
		in, columns := b.String(), Columns(rng.IntN(120))
		out := Wrap(in, columns)
		if a, b := strings.Fields(in), strings.Fields(out); strings.Join(a, " ") != strings.Join(b, " ") {
			t.Fatalf("%q became %q", in, out)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, " \n")
			cells := split(line)
			if len(cells) != 1 || strings.Contains(in, line+"\n") || width(line) <= columns {
				continue
			}
			if len(phrases(strings.TrimLeft(line, " ")+" x")) > 2 { // x: a place in a file is one phrase where something follows
				t.Fatalf("%q at %d holds a line of %d columns: %q", in, columns, width(line), line)
			}
		}
	}
}
