package formula

import (
	"slices"
	"strings"
	"testing"
)

func number(x float64) *float64 { return &x }

// columns are the columns in the tests' expressions.
var columns = []Column{
	{Name: "age", Type: Number, Lower: number(0), Upper: number(120)},
	{Name: "size", Type: Number}, {Name: "miles", Type: Number}, {Name: "hours", Type: Number},
	{Name: "borough", Type: Text, Domain: []string{"Bronx", "Brooklyn", "Manhattan", "Queens", "Staten Island"}},
	{Name: "home", Type: Text, Domain: []string{"Bronx", "Queens"}},
	{Name: "region", Type: Text, Domain: []string{"1", "2", "3"}},
	{Name: "note", Type: Text}, {Name: "adult", Type: Bool}, {Name: "minor", Type: Bool},
	{Name: "born", Type: Date}, {Name: "died", Type: Date}, {Name: "pickup", Type: Timestamp},
	{Name: "odd name", Type: Number}, {Name: "in", Type: Number}, {Name: "home.city", Type: Text}, {Name: "other", Type: 0},
}

// What is right has a type, and a spelling of its own.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"age >= 18":                                  `bool (le 18 ["age"])`,
		" age>=18.0 ":                                `bool (le 18 ["age"])`,
		"(age) >= ((0x12))":                          `bool (le 18 ["age"])`,
		"18u <= column('age')":                       `bool (le 18 ["age"])`,
		"miles / hours":                              `number (div ["miles"] ["hours"])`,
		"-miles * -2 % 7":                            `number (mod (mul (neg ["miles"]) -2) 7)`,
		"age > 1 && adult && !minor":                 `bool (and (lt 1 ["age"]) ["adult"] (not ["minor"]))`,
		"(age > 1 && adult) && (adult)":              `bool (and (lt 1 ["age"]) ["adult"] ["adult"])`,
		"adult || minor || age == 3":                 `bool (or ["adult"] ["minor"] (eq ["age"] 3))`,
		"borough in ['Bronx', \"Queens\"]":           `bool (in ["borough"] "Bronx" "Queens")`,
		"borough != 'Bronx'":                         `bool (not (eq ["borough"] "Bronx"))`,
		"borough == home":                            `bool (eq ["borough"] ["home"])`,
		"home in [borough, 'Bronx']":                 `bool (in ["home"] ["borough"] "Bronx")`,
		"age in [1, 2.5, -3]":                        `bool (in ["age"] 1 2.5 -3)`,
		"borough.startsWith('B')":                    `bool (starts ["borough"] "B")`,
		"startsWith(borough, 'B')":                   `bool (starts ["borough"] "B")`,
		"note.endsWith('x') || note.contains('')":    `bool (or (ends ["note"] "x") (contains ["note"] ""))`,
		"note < 'm'":                                 `bool (lt ["note"] "m")`,
		"size(note) + size":                          `number (add (size ["note"]) ["size"])`,
		"age < 18 ? 'child' : 'adult'":               `text (if (lt ["age"] 18) "child" "adult")`,
		"age < 120 ? age : null":                     `number (if (lt ["age"] 120) ["age"] null)`,
		"age < 120 ? null : born":                    `date (if (lt ["age"] 120) null ["born"])`,
		"age < 18 ? borough : 'none'":                `text (if (lt ["age"] 18) ["borough"] "none")`,
		"missing(born) || missing(age)":              `bool (or (missing ["born"]) (missing ["age"]))`,
		"born >= date('1970-01-02')":                 `bool (le d1 ["born"])`,
		"date(pickup) == born":                       `bool (eq (date ["pickup"]) ["born"])`,
		"pickup < timestamp('1970-01-01 00:01')":     `bool (lt ["pickup"] s60000000)`,
		"year(born) * 100 + born.month()":            `number (add (mul (year ["born"]) 100) (month ["born"]))`,
		"days_between(born, pickup)":                 `number (days_between ["born"] ["pickup"])`,
		"number(note) + number(adult)":               `number (add (number ["note"]) (number ["adult"]))`,
		"number('12') < age":                         `bool (lt 12 ["age"])`,
		"min(age, 2, size)":                          `number (min ["age"] 2 ["size"])`,
		"max(born, died)":                            `date (max ["born"] ["died"])`,
		"round(abs(floor(ceil(sqrt(age)))))":         `number (round (abs (floor (ceil (sqrt ["age"])))))`,
		"column('odd name') + column(\"in\") > 0":    `bool (lt 0 (add ["odd name"] ["in"]))`,
		"home.city == 'Rome'":                        `bool (eq ["home.city"] "Rome")`,
		"home.city.startsWith('R')":                  `bool (starts ["home.city"] "R")`,
		"column('home.city') == r'a\\b'":             `bool (eq ["home.city"] "a\\b")`,
		"age > // what is old\n 65":                  `bool (lt 65 ["age"])`,
		"-0.0 < age":                                 `bool (lt 0 ["age"])`,
		"date(note) < died":                          `bool (lt (date ["note"]) ["died"])`,
		"age - 1 - 2 * size / 3 > 2.5-3":             `bool (lt (sub 2.5 3) (sub (sub ["age"] 1) (div (mul 2 ["size"]) 3)))`,
		"adult || minor && !adult == minor":          `bool (or ["adult"] (and ["minor"] (eq (not ["adult"]) ["minor"])))`,
		"1e3 < age && .5 < age && 1.5E-2 < 0xfFu":    `bool (and (lt 1000 ["age"]) (lt 0.5 ["age"]) (lt 0.015 255))`,
		"age < 1 ? 'a' : age < 2 ? 'b' : 'c'":        `text (if (lt ["age"] 1) "a" (if (lt ["age"] 2) "b" "c"))`,
		"note in ['it\\'s', \"\\x41\\101\\n\"]":      `bool (in ["note"] "it's" "AA\n")`,
		"-miles.abs() + -2.abs() > 9007199254740992": `bool (lt 9.007199254740992e+15 (add (neg (abs ["miles"])) (abs -2)))`,
		"hour(pickup) < 6 && weekday(pickup) > 5":    `bool (and (lt (hour ["pickup"]) 6) (lt 5 (weekday ["pickup"])))`,
	} {
		f, problems := Check(text, columns)
		if len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		} else if got := f.Type.String() + " " + f.Canonical(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// What is wrong is told with its place, and with what to do.
func TestProblems(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for text, want := range map[string]string{
		"":                                   "1:1: is empty (write a condition such as age >= 18, or a value such as miles / hours)",
		"agee >= 18":                         `1:1: there is no column "agee" (did you mean age?)`,
		"age >\n  oddname":                   `2:3: there is no column "oddname" (did you mean column('odd name')?)`,
		"column('ages') > 1":                 `1:7: there is no column "ages" (did you mean column('age')?)`,
		"column(age) > 1":                    "1:7: column() takes the name of a column in quotes, such as column('odd name')",
		"borough == Bronx":                   `1:12: there is no column "Bronx" (write the text 'Bronx' in quotes)`,
		"age > xyzzy":                        `1:7: there is no column "xyzzy" (declare it under dataset.columns; a text stands in quotes)`,
		"other > 1":                          `1:1: the column "other" has no type that expressions can read`,
		"borough == 'Bronks'":                `1:12: "Bronks" is not in the domain of "borough" (did you mean 'Bronx'?)`,
		"borough in ['Queens', 'xyzzy']":     `1:23: "xyzzy" is not in the domain of "borough" (it holds Bronx, Brooklyn, Manhattan, Queens, Staten Island)`,
		"'a' != home":                        `1:1: "a" is not in the domain of "home" (it holds Bronx, Queens)`,
		"borough.startsWith('x')":            `1:20: no value of the domain of "borough" begins with "x"`,
		"(adult ? 'a' : 'b') == 'c'":         `1:24: "c" is not in the text on the left (it holds a, b)`,
		"region == 1":                        `1:8: == takes two values of one type, not a text and a number ("region" is a category: write its values in quotes)`,
		"region in [1, 2]":                   `1:8: in takes a value, and a list of values of its type such as ['a', 'b'], not a text and a list ("region" is a category: write its values in quotes)`,
		"age in [1, 'a']":                    "1:12: the list holds a text and is searched for a number",
		"age in []":                          "1:8: the list is empty (name the values)",
		"age in borough":                     "1:5: in takes a value, and a list of values of its type such as ['a', 'b'], not a number and a text",
		"age + borough":                      "1:5: + takes two numbers, not a number and a text (number() makes a text a number)",
		"age && adult":                       "1:1: && and || take conditions, not a number (compare it with something)",
		"!age":                               "1:1: ! takes a condition, not a number",
		"adult ? 1 : 'a'":                    "1:7: condition ? value : value takes a condition, and two values of one type, not a bool, a number and a text (number() makes a text a number)",
		"born > '2026-01-01'":                "1:6: > takes two numbers, two texts, two dates or two timestamps, not a date and a text (write date('2026-10-01'))",
		"pickup > date('2026-01-01')":        "1:8: > takes two numbers, two texts, two dates or two timestamps, not a timestamp and a date (date() takes the day of a timestamp)",
		"died - born > 3":                    "1:6: - takes two numbers, not a date and a date (write days_between(earlier, later))",
		"born > date('2026-13-01')":          `1:13: "2026-13-01" is no date (write a day as 2026-10-01)`,
		"pickup > timestamp('noon')":         `1:20: "noon" is no timestamp (write a moment as 2026-10-01T12:00:00)`,
		"yaer(born) > 2000":                  `1:5: there is no function "yaer" (did you mean year?)`,
		"matches(note, 'x.*')":               `1:8: there is no function "matches" (the functions are abs, ceil, column, contains, date, day, days_between, endsWith, floor, hour, max, min, missing, month, number, round, size, sqrt, startsWith, timestamp, weekday, year)`,
		"note.exists(x, x > 1)":              `1:12: there is no function "exists" (the functions are abs, ceil, column, contains, date, day, days_between, endsWith, floor, hour, max, min, missing, month, number, round, size, sqrt, startsWith, timestamp, weekday, year)`,
		"string(age) == '1'":                 `1:7: there is no function "string" (the functions are abs, ceil, column, contains, date, day, days_between, endsWith, floor, hour, max, min, missing, month, number, round, size, sqrt, startsWith, timestamp, weekday, year)`,
		"year(age) > 2000":                   "1:5: year() takes a date or a timestamp, not a number",
		"min(age) > 2000":                    "1:4: min() takes 2 to 8 numbers, dates or timestamps, not a number",
		"year() > 2000":                      "1:5: year() takes a date or a timestamp, not nothing",
		"age == null":                        "1:8: null may stand only as one of the two values of condition ? value : value (write missing(x) to ask whether a value is missing)",
		"note[0] == 'a'":                     "1:5: [ ] after a value is not part of the language",
		"{'a': age}":                         "1:1: braces are not part of the language (write a list as ['a', 'b'])",
		"[age]":                              "1:1: is a list, where a value of one type is needed",
		"age == [1]":                         "1:8: a list may stand only on the right of in",
		"b'x' == note":                       "1:1: bytes are not part of the language (leave out the b in front of the quotes)",
		"age > 9007199254740993":             "1:7: a whole number must lie between -2^53 and 2^53, where numbers are exact",
		"age = 18":                           "1:5: is no expression: unexpected token after expression (write == for =)",
		"age > 18 and adult":                 "1:10: is no expression: unexpected token after expression (write && for and)",
		"age > 18 and borough = 'Bronx'":     "1:10: is no expression: unexpected token after expression (write && for and, == for =)",
		"age > ":                             "1:7: is no expression: ends too early",
		"age > 18 && (adult":                 "1:19: is no expression: expected ')'",
		"if(adult, 1, 2)":                    "1:1: the word if is reserved (write condition ? value : value)",
		"package > 1":                        "1:1: the word package is reserved (read a column of this name with column('package'))",
		"note == 'a":                         "1:9: is no expression: unterminated string literal",
		long:                                 "1:1: has 5000 characters, the most is 4096 (split it into derived columns)",
		strings.Repeat("(", 3000):            "1:1: is nested too deeply (split it into derived columns)",
		strings.Repeat("!(", 200) + "a":      "1:1: is nested too deeply (split it into derived columns)",
		"age" + strings.Repeat("+1", 500):    "1:1: is nested too deeply (split it into derived columns)",
		"age >\n\x00 18":                     "2:1: holds a character that no expression may hold (remove it)",
		"age > \xff":                         "1:7: holds a character that no expression may hold (remove it)",
		"1 < 2":                              "1:1: reads no column, so it is the same for every row (name a column of the row)",
		"true":                               "1:1: reads no column, so it is the same for every row (name a column of the row)",
		"null":                               "1:1: reads no column, so it is the same for every row (name a column of the row)",
		"adult ? null : null":                "1:7: is something else, where a value of one type is needed",
		"age > 60 && age < 18":               "1:10: is never true (compare its parts with each other, and with the domains of the columns)",
		"adult ? born : minor":               "1:7: condition ? value : value takes a condition, and two values of one type, not a bool, a date and a bool",
		"adult ? born : note":                "1:7: condition ? value : value takes a condition, and two values of one type, not a bool, a date and a text (write date('2026-10-01'))",
		"age > 1e999":                        "1:7: is no expression: the number is too large",
		"age > 0x20000000000001":             "1:7: a whole number must lie between -2^53 and 2^53, where numbers are exact",
		"note == '\\ud800'":                  `1:9: is no expression: an unknown escape in a text: write \\ for a backslash`,
		"(age > 1":                           "1:9: is no expression: expected ')'",
		"age > 1\n  && * 2":                  `2:6: is no expression: unexpected "*"`,
		"in > 1":                             "1:1: the word in is reserved (read a column of this name with column('in'))",
		"größe > 1":                          "1:3: is no expression: unexpected character",
		"age > 60 ? age == 1 : age.x.y == 3": `1:28: there is no column "age.x.y" (declare it under dataset.columns; a text stands in quotes)`,
		"(age + 1).x":                        "1:10: a value has no fields",
	} {
		f, problems := Check(text, columns)
		if f != nil || len(problems) == 0 {
			t.Errorf("%.40q is taken", text)
			continue
		}
		if got := problems[0].Error(); got != want {
			t.Errorf("%.40q: got\n\t%s\nwant\n\t%s", text, got, want)
		}
	}
}

// A condition that is never true is found where one column's part says so.
func TestNever(t *testing.T) {
	for _, text := range []string{
		"age > 60 && age < 18", "age < 18 && (adult || minor) && 60 <= age", "age > 5 && age < 5", "age >= 5 && !(age > 4)",
		"age == 1 && age == 2", "age in [1, 2] && age in [3, 4]", "!(age < 5 || age > 2)", "adult && !adult", "adult && adult == false",
		"borough == 'Bronx' && borough == 'Queens'", "borough == 'Bronx' && borough.startsWith('Q')", "home == 'Bronx' && borough in ['Queens'] && (age > 1 || borough == 'Queens') && borough != 'Queens'",
		"!(home == 'Bronx') && home != 'Queens'", "born < date('2000-01-01') && born > date('2000-01-01')", "note == 'a' && note == 'b'", "age > 1 && false",
		"pickup < timestamp('2000-01-01') && pickup >= timestamp('2000-01-01')", "(age < 1 && age > 2) || (age > 4 && age < 3)",
		"home != 'Bronx' && home != 'Queens' && age > 3",
	} {
		if f, problems := Check(text, columns); f != nil || !strings.Contains(problems[0].Message, "never true") {
			t.Errorf("%s: %v", text, problems)
		}
	}
	for text, doubt := range map[string]bool{
		"age > 200": true, "age > 120": true, "age >= 120": false, "age < 0 || age == 200": true, "age + size > 500": false,
		"age > 60 || age < 18": false, "age >= 5 && age <= 5": false, "!(age > 5 && age < 2)": false, "adult || !adult": false, "borough == home": false,
		"age in [1, 200]": false, "note == 'a' || note == 'b'": false, "note != 'a' && note != 'b'": false, "age != 5": false, "missing(age) && adult": false, "age < size && size < 3 && age > 3": false,
		"note < 'a' && note > 'b'": false, "adult == true": false, "adult ? minor : age > 3": false, "age in [size, 3] && age > 5": false,
		"home in ['Queens'] && home != 'Bronx'": false, "!(home in ['Queens'])": false, "note in [home, 'x'] && note != 'x'": false,
	} {
		if f, problems := Check(text, columns); len(problems) > 0 || (f.Doubt != "") != doubt {
			t.Errorf("%s: %v %+v", text, problems, f)
		}
	}
}

// A chain of && is as deep as one of them.
func TestLongChain(t *testing.T) {
	if f, problems := Check("age > 1"+strings.Repeat(" && adult", 300), columns); len(problems) > 0 || len(f.Root.Args) != 301 {
		t.Error(problems)
	}
}

func TestFormula(t *testing.T) {
	f, problems := Check("miles > 1 ? (borough == home ? home : 'none') : borough", columns)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := f.Columns(); !slices.Equal(got, []string{"borough", "home", "miles"}) {
		t.Errorf("reads %v", got)
	}
	if want := []string{"Bronx", "Queens", "none", "Brooklyn", "Manhattan", "Staten Island"}; !slices.Equal(f.Domain, want) {
		t.Errorf("the domain is %v, want %v", f.Domain, want)
	}
	for text, want := range map[string][]string{"adult": {"false", "true"}, "note": nil, "age": nil, "adult ? note : 'x'": nil, "adult ? 'x' : null": {"x"}} {
		if f, problems := Check(text, columns); len(problems) > 0 || !slices.Equal(f.Domain, want) {
			t.Errorf("%s: %v, the domain is %v, want %v", text, problems, f.Domain, want)
		}
	}
}

func TestReadsAndOrder(t *testing.T) {
	if got := Reads("a.b.startsWith(c) && column('d e') in [f, 1] && x(g).y && !z"); !slices.Equal(got, []string{"a.b", "c", "d e", "f", "g", "z"}) {
		t.Errorf("reads %q", got)
	}
	if got := Reads("a +"); got != nil {
		t.Errorf("a broken text reads %q", got)
	}
	reads := map[string][]string{"speed": {"miles", "hours"}, "fast": {"speed", "limit"}, "limit": {"zone"}}
	of := func(n string) []string { return reads[n] }
	order, cycle := Order([]string{"fast", "limit", "speed"}, of)
	if !slices.Equal(order, []string{"speed", "limit", "fast"}) || cycle != nil {
		t.Errorf("order %v, cycle %v", order, cycle)
	}
	reads["limit"] = []string{"fast"}
	if order, cycle = Order([]string{"speed", "fast", "limit"}, of); order != nil || !slices.Equal(cycle, []string{"fast", "limit", "fast"}) {
		t.Errorf("order %v, cycle %v", order, cycle)
	}
}

func TestBins(t *testing.T) {
	b := Bins{Edges: []float64{0, 18, 65.5, 120}}
	if got := strings.Join(b.Labels(), " "); got != "[0, 18) [18, 65.5) [65.5, 120]" {
		t.Errorf("labels %s", got)
	}
	open := Bins{Edges: b.Edges, Below: true, Above: true}
	if got := strings.Join(open.Labels(), "; "); got != "< 0; [0, 18); [18, 65.5); [65.5, 120]; > 120" {
		t.Errorf("labels %s", got)
	}
	one := Bins{Edges: []float64{1e-7}, Below: true, Above: true}
	if got := strings.Join(one.Labels(), "; "); got != "< 1e-07; >= 1e-07" {
		t.Errorf("labels %s", got)
	}
	nan := 0.0
	nan /= nan
	for x, want := range map[float64][2]int32{-1: {-1, 0}, 0: {0, 1}, 17.999: {0, 1}, 18: {1, 2}, 65.5: {2, 3}, 120: {2, 3}, 120.1: {-1, 4}, nan: {-1, -1}} {
		if got := [2]int32{b.Code(x), open.Code(x)}; got != want {
			t.Errorf("%v is in %v, want %v", x, got, want)
		}
	}
	if one.Code(0) != 0 || one.Code(1e-7) != 1 || one.Code(3) != 1 {
		t.Error("one edge cuts in two")
	}
	for want, b := range map[string]Bins{
		"":                                   {Edges: []float64{1, 2}},
		"needs at least 2 edges":             {Edges: []float64{1}},
		"needs at least 1 edges":             {Below: true},
		"has the edge 1 after 1":             {Edges: []float64{1, 1}},
		"has the edge 1 after 3":             {Edges: []float64{3, 1}},
		"has an edge that is not finite":     {Edges: []float64{1, nan}},
		"has 10001 edges, the most is 10000": {Edges: make([]float64, 10001)},
	} {
		if what, _ := b.Check(); what != want {
			t.Errorf("%v: %s, want %s", b.Edges[:min(3, len(b.Edges))], what, want)
		}
	}
}
