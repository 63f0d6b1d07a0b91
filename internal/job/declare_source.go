package job

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/lang"
)

func source() kind[Source] {
	return object(
		fileKey("path",
			func(s *Source) *string { return &s.Path }, func(s *Source) *string { return &s.named },
			"A file, a folder or a glob, relative to the job file. ${NAME} is replaced", required(), example("schools.parquet")),
		key("format", choice("parquet", "arrow", "csv"), func(s *Source) *string { return &s.Format },
			"The format of the files. Without this key each file is recognised by its first bytes, and a CSV file by its name, which ends in .csv or .csv.gz", example("parquet")),
		key("delimiter", delimiter(), func(s *Source) *rune { return &s.Delimiter },
			"What stands between two fields of a CSV file; a comma without this key. The first line of the file must hold the names of the columns", example(`";"`)),
		key("missing", distinct(list(value(), 1)), func(s *Source) *[]string { return &s.Missing },
			"The texts of a CSV file that stand for a missing value; the empty text without this key. In a column of numbers every text that is no number is missing, too", example(`["", NA]`)),
	)
}

// delimiter is a character, or the word tab.
func delimiter() kind[rune] {
	const label = `",", ";", "|" or tab`
	return scalar(label, schema{"enum": []string{",", ";", "|", "tab", "\t"}}, func(text string) (rune, error) {
		switch text {
		case ",", ";", "|", "\t":
			return rune(text[0]), nil
		case "tab":
			return '\t', nil
		}
		return 0, fmt.Errorf("must be %s, not %s", label, lang.Shown(text))
	})
}

// missingTexts are the texts that stand for a missing value, in order; nil where that is
// the empty one, as without the key.
func (s *Source) missingTexts() []string {
	if s.Missing == nil || slices.Equal(s.Missing, []string{""}) {
		return nil
	}
	return slices.Sorted(slices.Values(s.Missing))
}
