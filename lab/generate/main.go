package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/plugins/columns"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	files, err := generate(os.Args[1])
	for name, content := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), content, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate returns the content of every generated file.
func generate(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	files["trips.csv"], files["zones.csv"] = trips()
	files["energy.csv"], _, _ = energy()
	for _, name := range []string{"schools", "eusilc"} {
		rows, err := read(filepath.Join(folder, name+".csv"))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := table.WriteParquet(&b, narrowest(rows)); err != nil {
			return nil, err
		}
		files[name+".parquet"] = b.Bytes()
		switch name {
		case "schools":
			files["schools-frame.csv"], files["schools-survey.csv"] = frame(rows, "county", "district"), survey(rows)
			files["districts-frame.csv"] = frame(rows, "district")
		case "eusilc":
			files["eusilc-households.csv"] = households(rows)
			if files["interviews.csv"], err = interviews(rows); err != nil {
				return nil, err
			}
			maps.Copy(files, waves(rows))
		}
	}
	return files, nil
}

func read(path string) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return csv.NewReader(f).ReadAll()
}

// narrowest gives every column the narrowest type that holds all its values.
func narrowest(rows [][]string) table.Release {
	var out table.Release
	for i, name := range rows[0] {
		c := columns.Column{Name: name}
		for _, r := range rows[1:] {
			c.Blank = append(c.Blank, r[i] == "")
		}
		if !slices.Contains(c.Blank, true) {
			c.Blank = nil
		}
		c.Int64 = parse(rows[1:], i, name, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
		if c.Int64 == nil {
			c.Float64 = parse(rows[1:], i, name, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
		}
		if c.Int64 == nil && c.Float64 == nil {
			c.Texts = parse(rows[1:], i, "", func(s string) (string, error) { return s, nil })
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}

// parse reads a column, or returns nil where it does not fit.
func parse[T any](rows [][]string, i int, name string, read func(string) (T, error)) []T {
	if name == "cds" { // a code that looks like a number
		return nil
	}
	values := make([]T, len(rows))
	for k, r := range rows {
		if r[i] == "" {
			continue
		}
		v, err := read(r[i])
		if err != nil {
			return nil
		}
		values[k] = v
	}
	return values
}

// survey draws 1,200 schools without replacement, from a fixed seed, with the columns that a survey would ask for.
func survey(rows [][]string) []byte {
	var b bytes.Buffer
	write := func(r []string) {
		for i, name := range []string{"cds", "school_type", "api00"} {
			fmt.Fprint(&b, strings.Repeat(",", min(i, 1)), r[slices.Index(rows[0], name)])
		}
		b.WriteByte('\n')
	}
	write(rows[0])
	drawn := rand.New(rand.NewPCG(1999, 12)).Perm(len(rows) - 1)[:1200]
	slices.Sort(drawn)
	for _, at := range drawn {
		write(rows[1+at])
	}
	return b.Bytes()
}

// households lists the households of the persons, with what all persons of one have in common.
func households(rows [][]string) []byte {
	var b bytes.Buffer
	seen := map[string]bool{}
	var at []int
	for _, name := range []string{"household", "region", "eq_income"} {
		at = append(at, slices.Index(rows[0], name))
	}
	for i, r := range rows {
		if key := r[at[0]]; i == 0 || !seen[key] {
			seen[key] = true
			fmt.Fprintf(&b, "%s,%s,%s\n", key, r[at[1]], r[at[2]])
		}
	}
	return b.Bytes()
}

// frame lists the districts, with the columns that name them and their numbers of schools.
func frame(rows [][]string, names ...string) []byte {
	count := map[string]int{}
	var order [][]string
	for _, r := range rows[1:] {
		var key []string
		for _, n := range names {
			key = append(key, r[slices.Index(rows[0], n)])
		}
		if one := strings.Join(key, ","); count[one] == 0 {
			order = append(order, key)
		}
		count[strings.Join(key, ",")]++
	}
	slices.SortFunc(order, func(a, b []string) int {
		return slices.CompareFunc(a, b, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	})
	var b bytes.Buffer
	b.WriteString(strings.Join(names, ",") + ",schools\n")
	for _, k := range order {
		one := strings.Join(k, ",")
		fmt.Fprintf(&b, "%s,%d\n", one, count[one])
	}
	return b.Bytes()
}
