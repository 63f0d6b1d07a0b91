// Command lines counts what weighs on a reader of the code: lines of code, comments and blank lines
// apart, long functions and lines, scan loops, texts that refuse a combination, and the files that
// know each capability. With -check it fails where a number is above the committed one.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

const committed = "lab/lines.json"

func main() {
	check := flag.Bool("check", false, "fail where a number is above that of "+committed)
	write := flag.Bool("write", false, "write the numbers to "+committed)
	flag.Parse()
	if err := run(*check, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(check, write bool) error {
	files, err := readFiles()
	if err != nil {
		return err
	}
	now := count(files)
	if write {
		text, err := json.MarshalIndent(now.Limits(), "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(committed, append(text, '\n'), 0o644)
	}
	if !check {
		now.print(os.Stdout)
		return nil
	}
	text, err := os.ReadFile(committed)
	if err != nil {
		return err
	}
	limits := map[string]int{}
	if err := json.Unmarshal(text, &limits); err != nil {
		return fmt.Errorf("%s: %w", committed, err)
	}
	return above(now.Limits(), limits)
}

// above names each number that grew, and each that has no committed number to compare with.
func above(now, limits map[string]int) error {
	var grown []string
	for name, n := range now {
		limit, known := limits[name]
		switch {
		case !known:
			grown = append(grown, fmt.Sprintf("%s: %d, and %s has no number for it", name, n, committed))
		case n > limit:
			grown = append(grown, fmt.Sprintf("%s: %d, committed %d", name, n, limit))
		}
	}
	for name := range limits {
		if _, counted := now[name]; !counted {
			grown = append(grown, fmt.Sprintf("%s: is in %s and is not counted", name, committed))
		}
	}
	if len(grown) == 0 {
		return nil
	}
	slices.Sort(grown)
	return fmt.Errorf("grew:\n  %s\nmake it smaller, or write down with lab/lines.sh -write why it has to be", strings.Join(grown, "\n  "))
}
