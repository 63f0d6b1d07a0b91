package language

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
)

func source() kind[job.Source] {
	return object(
		key("path", filePath(), func(s *job.Source) *string { return &s.Path },
			"A file, a folder or a glob, relative to the job file, or an address such as s3://bucket/folder (docs/tables.md). "+
				"${NAME} is replaced. A job says this key, postgres or iceberg", example("schools.parquet"), out("the content says what was read")),
		key("iceberg", filePath(), func(s *job.Source) *string { return &s.Path },
			"The folder of an Apache Iceberg table, or one of its metadata files, relative to the job file, or an address such as "+
				"s3://bucket/warehouse/city/trips. ${NAME} is replaced", example("warehouse/city/trips"), out("the content says what was read")),
		key("snapshot", snapshotID(), func(s *job.Source) *int64 { return &s.Snapshot },
			"With iceberg: the id of the snapshot that is read, part of what the job asks for", example("3051729675574597004")),
		key("postgres", database(), func(s *job.Source) *job.Secret { return &s.Postgres },
			"The address of a PostgreSQL database, without a password (PGPASSWORD or ~/.pgpass). ${NAME} is replaced",
			example("postgres://reader@db.example.org/registry?sslmode=verify-full"), out("the content says what was read")),
		key("table", pattern("name or schema.name, of letters, digits, $ and _",
			`^[\p{L}_][\p{L}0-9_$]{0,62}(\.[\p{L}_][\p{L}0-9_$]{0,62})?$`), func(s *job.Source) *string { return &s.Table },
			"With postgres: the table that is read, all rows of it. Capital letters count", example("public.trips"),
			out("the content says what was read")),
		key("query", statement(), func(s *job.Source) *string { return &s.Query },
			"With postgres: a query that chooses rows and columns of one table. The relation is then add-remove",
			example(`"select fare, borough from trips where paid"`)),
		key("delimiter", delimiter(), func(s *job.Source) *rune { return &s.Delimiter },
			"The character between two fields of a CSV file, whose first line holds the names of the columns; a comma without this key",
			example(`";"`), out("the content says what was read")),
		key("missing", distinct(list(value(), 1)), func(s *job.Source) *[]string { return &s.Missing },
			"The texts of a CSV file that mean a missing value; the empty text without this key", example(`["", NA]`)).with(func(s *job.Source) any {
			if texts := s.MissingTexts(); texts != nil {
				return texts // the content does not tell how a text is taken
			}
			return nil
		}),
		key("encoding", choice("latin1", "iso-8859-2", "iso-8859-15", "windows-1250", "windows-1252"),
			func(s *job.Source) *string { return &s.Encoding },
			"How a CSV file is encoded, where it is neither UTF-8 nor UTF-16 with a mark. latin1 is read as windows-1252", example("latin1"),
			out("the content says what was read")),
		key("decimal", choice(","), func(s *job.Source) *string { return &s.Decimal },
			"The decimal sign of a CSV file; a point without this key", example(`","`)),
		key("thousands", choice(".", ",", "'", " "), func(s *job.Source) *string { return &s.Thousands },
			"What stands between groups of three digits in a CSV file; nothing without this key. A number with it in another place is missing",
			example(`"."`)),
		key("dates", choice("02.01.2006", "2.1.2006", "02/01/2006", "2/1/2006", "01/02/2006", "1/2/2006", "02-01-2006", "2006/01/02",
			"2006.01.02", "20060102"), func(s *job.Source) *string { return &s.Dates },
			"How a CSV file writes 2 January 2006, in columns of type date and timestamp; 2006-01-02 without this key. "+
				"Without zeros both forms are read", example(`"02.01.2006"`)),
	)
}

// snapshotID is the id of a snapshot, which has more digits than a number of JSON can have.
func snapshotID() kind[int64] {
	const form = `^[1-9][0-9]{0,18}$`
	s := schema{"anyOf": []schema{{"type": "integer", "minimum": 1}, {"type": "string", "pattern": form}}}
	return scalar("the id of a snapshot", s, func(text string) (int64, error) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !regexp.MustCompile(form).MatchString(text) {
			return 0, fmt.Errorf("must be the id of a snapshot, a whole number of at most 19 digits, not %s", problem.Shown(text))
		}
		return id, nil
	})
}

// delimiter is a character, or the word tab.
func delimiter() kind[rune] {
	return scalar(delimiters, schema{"enum": []string{",", ";", "|", "tab", "\t"}}, ParseDelimiter)
}

const delimiters = `",", ";", "|" or tab`

// ParseDelimiter reads what stands between two fields of a CSV file.
func ParseDelimiter(text string) (rune, error) {
	switch text {
	case ",", ";", "|", "\t":
		return rune(text[0]), nil
	case "tab":
		return '\t', nil
	}
	return 0, fmt.Errorf("must be %s, not %s", delimiters, problem.Shown(text))
}

// database is the address of a PostgreSQL database. A password in it would be in the job file.
func database() kind[job.Secret] {
	const like = "postgres://reader@db.example.org/registry"
	return expanded("address of a database", "an address such as "+like, func(_ *cursor, text string) (to job.Secret, hint, wrong string) {
		u, err := url.Parse(text) // whose error would quote the address
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			return to, "for example " + like, "must be an address that begins with postgres://"
		}
		if _, said := u.User.Password(); said || address.Credential(text) && u.User.Username() == "" || u.Query().Has("password") ||
			u.Query().Has("sslpassword") {
			return to, "say it in PGPASSWORD, or in the file ~/.pgpass", "must not hold a password"
		}
		return job.NewSecret(text), "", ""
	})
}

// statement is a text of several lines.
func statement() kind[string] {
	return scalar("text of an SQL query", anyText, func(text string) (string, error) {
		_, err := checkText(strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(text))
		return strings.TrimRight(text, " \r\n\t;"), err
	})
}

// origins are the keys that say where the table is, each with those that belong to it.
var origins = []struct {
	key, what string
	own       []string
}{
	{"path", "files", []string{"delimiter", "missing", "encoding", "decimal", "thousands", "dates"}},
	{"postgres", "a table in a database", []string{"table", "query"}},
	{"iceberg", "an Iceberg table", []string{"snapshot"}},
}

// source checks that the job names one table.
func (k *checker) source() {
	const at = "dataset.source"
	said := func(key string) bool { return k.j.Has(at + "." + key) }
	from := ""
	for _, o := range origins {
		if said(o.key) && from != "" {
			k.wrong(at+"."+from, "leave out "+from+" or "+o.key, "stands beside %s: a job reads one table", o.key)
		}
		if said(o.key) {
			from = o.key
		}
	}
	if from == "" {
		if k.j.Has(at) && !k.toldOf(at) {
			k.wrong(at, "say path for files, postgres and table for a database, or iceberg and snapshot", "names no table")
		}
		return
	}
	if s := k.j.Dataset.Source; s.Thousands != "" && s.Thousands == cmp.Or(s.Decimal, ".") {
		k.wrong(at+".thousands", "say decimal too, or another sign", "is also the decimal sign")
	}
	for _, o := range origins {
		if o.key != from {
			k.refuse(at, o.own, "leave it out", "is for %s", o.what)
		}
	}
	switch {
	case from == "postgres" && said("table") && said("query"):
		k.wrong(at+".query", "leave out table or query", "stands beside table: a job reads one of them")
	case from == "postgres" && !said("table") && !said("query"):
		k.wrong(at, "say table: schema.name, or query", "names a database and no table in it")
	case from == "iceberg" && !said("snapshot") && !k.toldOf(at+".snapshot"):
		// There is no default: the current snapshot is another table tomorrow, and a run that is tried again would be another
		// run, which draws and pays again (P21).
		k.wrong(at, "say snapshot: ID, one of those that the tools of the table list", "names an Iceberg table and no snapshot of it")
	}
}

// toldOf reports whether a key, or one within it, has its problem already.
func (k *checker) toldOf(path string) bool {
	return slices.ContainsFunc(k.told, func(p job.Problem) bool { return problem.Within(p.Path, k.j.Path(path)) })
}
