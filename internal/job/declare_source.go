package job

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/lang"
	"github.com/dprelease/dprelease/privacy"
)

func source() kind[Source] {
	return object(
		fileKey("path",
			func(s *Source) *string { return &s.Path }, func(s *Source) *string { return &s.named },
			"A file, a folder or a glob, relative to the job file, or an address such as s3://bucket/folder. ${NAME} is replaced. A job says this key, postgres or iceberg", example("schools.parquet")),
		fileKey("iceberg",
			func(s *Source) *string { return &s.Path }, func(s *Source) *string { return &s.named },
			"The folder of an Apache Iceberg table, or one of its metadata files, relative to the job file, or an address such as s3://bucket/warehouse/city/trips. ${NAME} is replaced", example("warehouse/city/trips")),
		key("snapshot", snapshotID(), func(s *Source) *int64 { return &s.Snapshot },
			"With iceberg: the id of the snapshot that is read. It is part of what the job asks for: the same job reads the same rows, whatever becomes of the table", example("3051729675574597004")),
		key("postgres", database(), func(s *Source) *Secret { return &s.Postgres },
			"The address of a PostgreSQL database that holds the table. It names no password: PGPASSWORD or the file ~/.pgpass does. ${NAME} is replaced", example("postgres://reader@db.example.org/registry?sslmode=verify-full")),
		key("table", pattern("name or schema.name, of letters, digits, $ and _", `^[\p{L}_][\p{L}0-9_$]{0,62}(\.[\p{L}_][\p{L}0-9_$]{0,62})?$`), func(s *Source) *string { return &s.Table },
			"With postgres: the table that is read, all rows of it. Capital letters count", example("public.trips")),
		key("query", statement(), func(s *Source) *string { return &s.Query },
			"With postgres: a query whose rows are the table. It may choose rows and columns of one table. The number of rows is then secret: the relation is add-remove", example(`"select fare, borough from trips where paid"`)),
		key("format", choice("parquet", "arrow", "csv"), func(s *Source) *string { return &s.Format },
			"The format of the files. Without this key each file is recognised by its first bytes, and a CSV file by its name, which ends in .csv or .csv.gz", example("parquet")),
		key("delimiter", delimiter(), func(s *Source) *rune { return &s.Delimiter },
			"What stands between two fields of a CSV file; a comma without this key. The first line of the file must hold the names of the columns", example(`";"`)),
		key("missing", distinct(list(value(), 1)), func(s *Source) *[]string { return &s.Missing },
			"The texts of a CSV file that stand for a missing value; the empty text without this key. In a column of numbers every text that is no number is missing, too", example(`["", NA]`)),
	)
}

// snapshotID is the id of a snapshot, which has more digits than a number of JSON can have.
func snapshotID() kind[int64] {
	const form = `^[1-9][0-9]{0,18}$`
	s := schema{"anyOf": []schema{{"type": "integer", "minimum": 1}, {"type": "string", "pattern": form}}}
	return scalar("the id of a snapshot", s, func(text string) (int64, error) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !regexp.MustCompile(form).MatchString(text) {
			return 0, fmt.Errorf("must be the id of a snapshot, a whole number of at most 19 digits, not %s", lang.Shown(text))
		}
		return id, nil
	})
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

// database is the address of a PostgreSQL database. A password in it would be in the job file.
func database() kind[Secret] {
	return kind[Secret]{label: "address of a database", schema: schema{"type": "string", "minLength": 1, "maxLength": maxText},
		read: func(c *cursor, p lang.Place, into *Secret) bool {
			const like = "for example postgres://reader@db.example.org/registry"
			text, ok := c.expanded(p, "must be an address such as postgres://reader@db.example.org/registry")
			if !ok {
				return false
			}
			u, err := url.Parse(text) // whose error would quote the address
			if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
				return c.Wrong(p, like, "must be an address that begins with postgres://")
			}
			if _, said := u.User.Password(); said || u.Query().Has("password") || u.Query().Has("sslpassword") {
				return c.Wrong(p, "say it in PGPASSWORD, or in the file ~/.pgpass", "must not hold a password")
			}
			*into = NewSecret(text)
			return true
		}}
}

// statement is a text of several lines.
func statement() kind[string] {
	return scalar("text of an SQL query", schema{"type": "string", "minLength": 1, "maxLength": maxText}, func(text string) (string, error) {
		_, err := checkText(strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(text))
		return strings.TrimRight(text, " \r\n\t;"), err
	})
}

// source checks that the job names one table, and nothing of a query that would be public of a whole table.
func (k *checker) source() {
	d, s := &k.j.Dataset, &k.j.Dataset.Source
	const at = "dataset.source"
	said := func(key string) bool { return k.j.Has(at + "." + key) }
	if said("snapshot") && !said("iceberg") {
		k.wrong(at+".snapshot", "leave it out", "is for an Iceberg table")
	}
	if said("iceberg") {
		k.iceberg(at, said)
		return
	}
	switch {
	case said("path") && said("postgres"):
		k.wrong(at+".postgres", "leave out path or postgres", "is said beside path: a job reads one table")
	case !said("path") && !said("postgres") && (!k.j.Has(at) || slices.ContainsFunc(k.told, func(p Problem) bool { return strings.HasPrefix(p.Path, at) })):
		return
	case !said("path") && !said("postgres"):
		k.wrong(at, "say path for files, postgres and table for a database, or iceberg and snapshot", "names no table")
	case said("path"):
		for _, key := range []string{"table", "query"} {
			if said(key) {
				k.wrong(at+"."+key, "leave it out", "is for a table in a database")
			}
		}
		return
	}
	if !said("postgres") {
		return
	}
	for _, key := range []string{"format", "delimiter", "missing"} {
		if said(key) {
			k.wrong(at+"."+key, "leave it out", "is for files")
		}
	}
	switch {
	case said("table") && said("query"):
		k.wrong(at+".query", "leave out table or query", "is said beside table: a job reads one of them")
	case !said("table") && !said("query"):
		k.wrong(at, "say table: schema.name, or query", "names a database and no table in it")
	}
	for i := range k.j.Samples { // the rows of a server have no order by which they could be found again
		name := lang.Key("samples", k.j.Samples[i].Name)
		switch sample := &k.j.Samples[i]; {
		case sample.Keep:
			k.wrong(name+".keep", "leave it out, or write the table to a file", "is for files: the rows of a database have no order, so a draw of them cannot be used again")
		case sample.Method == Kept:
			k.wrong(name+".method", "draw a sample of this job's own", "kept is for files: the rows of a database have no order, so a draw of them cannot be used again")
		}
	}
	if s.Query == "" {
		return
	}
	// How many rows a condition leaves follows from the data (P24): nothing public may stand on it.
	const private = "does not go with a query: a condition decides how many rows there are, so their number is secret"
	if d.Relation == privacy.ReplaceOne {
		k.wrong("dataset.relation", "say add-remove; or name the table, and choose rows with where", "replace-one %s", private)
	}
	for _, key := range []string{"at_least", "collected", "frame"} {
		if k.j.Has("dataset." + key) {
			k.wrong("dataset."+key, "name the table instead of a query, and choose rows with where", "%s", private)
		}
	}
}

// iceberg checks what is said of an Iceberg table. The snapshot has no default: the current one is another table tomorrow,
// and a run that is tried again would then be another run, which draws and pays again (P21).
func (k *checker) iceberg(at string, said func(string) bool) {
	for _, key := range []string{"path", "postgres"} {
		if said(key) {
			k.wrong(at+"."+key, "leave out "+key+" or iceberg", "is said beside iceberg: a job reads one table")
		}
	}
	for _, key := range []string{"table", "query", "format", "delimiter", "missing"} {
		if said(key) {
			k.wrong(at+"."+key, "leave it out", "is not for an Iceberg table")
		}
	}
	if !said("snapshot") && !slices.ContainsFunc(k.told, func(p Problem) bool { return p.Path == at+".snapshot" }) {
		k.wrong(at, "say snapshot: ID, one of those that the tools of the table list", "names an Iceberg table and no snapshot of it")
	}
}
