package database

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgrestest.Stop()
	os.Exit(code)
}

// schema makes a schema with some tables, and returns its address.
func schema(t *testing.T, statements ...string) string {
	t.Helper()
	address := postgrestest.New(t)
	name := address[strings.LastIndex(address, "ledger"):]
	if i := strings.IndexFunc(name, func(r rune) bool { return r == '&' || r == '?' }); i >= 0 {
		name = name[:i]
	}
	if err := postgrestest.Shared(t).Exec(append([]string{"set search_path = " + name}, statements...)...); err != nil {
		// Each statement may have a connection of its own.
		t.Fatal(err)
	}
	return address
}

// cells are the rows of a table as texts.
func cells(t *testing.T, tab *table.Table, columns ...string) (out []string) {
	t.Helper()
	err := tab.Scan(t.Context(), table.ScanOptions{Columns: columns}, func(b table.Batch) error {
		for row := range b.Rows {
			var line []string
			for i := range b.Columns {
				v := &b.Columns[i]
				switch {
				case v.Null(row):
					line = append(line, "-")
				case v.Codes != nil:
					line = append(line, v.Dict[v.Codes[row]])
				case v.Int64 != nil:
					line = append(line, fmt.Sprint(v.Int64[row], "/", v.Scale))
				default:
					line = append(line, fmt.Sprint(v.Float64[row]))
				}
			}
			out = append(out, strings.Join(line, " "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func open(t *testing.T, s Source, columns ...string) *table.Table {
	t.Helper()
	tab, err := Open(t.Context(), s, columns, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tab.Close() })
	return tab
}

func TestTypes(t *testing.T) {
	a := schema(t, `create type mood as enum ('sad', 'glad')`, `create domain age as int`,
		`create table t (i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, d numeric(18,2), n numeric, b bool, x text, v varchar(9), c char(5), m mood, u uuid, a age,
			day date, at time, ts timestamp, tz timestamptz, j jsonb)`,
		`insert into t values (-2, 4, 8, 0.5, -0.25, 12.5, 1e400, true, 'ä b', 'v', 'c', 'glad', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 7,
			'2024-02-29', '12:30', '2024-02-29 12:30', '2024-02-29 12:30+01', '{}'),
		(null, null, null, 'NaN', 'Infinity', 'NaN', 'NaN', null, null, null, null, null, null, null, 'infinity', null, '-infinity', 'infinity', null)`)
	tab := open(t, Source{Address: a, Table: "t"})
	names := []string{"i2", "i4", "i8", "f4", "f8", "d", "n", "b", "x", "v", "c", "m", "u", "a", "day", "at", "ts", "tz"}
	got := cells(t, tab, names...)
	want := []string{
		"-2/0 4/0 8/0 0.5 -0.25 1250/2 +Inf 1/0 ä b v c glad a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 7/0 19782/0 45000000000/0 1709209800000000/0 1709206200000000/0",
		"- - - NaN +Inf - NaN - - - - - - - - - - -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if i := slices.IndexFunc(tab.Columns(), func(c table.Column) bool { return c.Name == "j" }); i < 0 || tab.Columns()[i].Usable {
		t.Error("a column of jsonb can be used")
	}
	if got := open(t, Source{Address: a, Table: "t"}, "i4", "gone"); got.Rows() != 0 || len(got.Usable()) != len(names) {
		t.Errorf("a missing column: %d rows, columns %v", got.Rows(), got.Usable())
	}
}

// PostgreSQL counts microseconds from 2000, and its calendar ends 29 years behind what an int64 counts from 1970.
func TestEndOfTime(t *testing.T) {
	a := schema(t, `create table t (ts timestamp)`, `insert into t values ('294276-12-31 23:59:59'), ('294247-01-09'), ('4713-01-01 BC')`)
	got := cells(t, open(t, Source{Address: a, Table: "t"}), "ts")
	if want := []string{"-", "9223371936000000000/0", "-210863520000000000/0"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// The same rows in another order are the same table, in whatever order columns are
// asked for; any other rows are another.
func TestSameRows(t *testing.T) {
	a := schema(t, `create table up as select i, i % 3 as k, 'text ' || i % 7 as s from generate_series(1, 70000) i`,
		`create table down as select * from up order by i desc`, `create table twice as select * from up union all select * from up where i = 5`,
		`create table other as select case when i = 6 then 7 else i end as i, k, s from up`)
	print := func(name string, columns ...string) table.Fingerprint {
		tab := open(t, Source{Address: a, Table: name}, columns...)
		c, err := tab.Content(t.Context(), columns)
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Fingerprint(t.Context(), table.Key{1})
		if err != nil {
			t.Fatal(err)
		}
		each, err := c.Columns(t.Context(), table.Key{1})
		if err != nil {
			t.Fatal(err)
		}
		alone, err := open(t, Source{Address: a, Table: name}, columns[0]).Fingerprint(t.Context(), columns[:1], table.Key{1})
		if err != nil || each[columns[0]] != alone || len(each) != len(columns) {
			t.Errorf("%s: the digest of a column depends on the others: %v", name, err)
		}
		return f
	}
	up := print("up", "i", "k", "s")
	if print("down", "s", "i", "k") != up {
		t.Error("the order of the rows or columns counts")
	}
	for _, name := range []string{"twice", "other"} {
		if print(name, "i", "k", "s") == up {
			t.Errorf("%s is the same table as up", name)
		}
	}
	if first := cells(t, open(t, Source{Address: a, Table: "down"}, "i"), "i")[0]; first != "70000/0" {
		t.Errorf("the rows begin with %s: the tables have the same order, and nothing was shown", first)
	}
}

func TestQueries(t *testing.T) {
	a := schema(t, `create table t (i int, s text)`, `create table u (i int, s text)`, `insert into t select n, 'x' from generate_series(1, 9) n`,
		`create table parts (i int) partition by range (i)`, `create table p1 partition of parts for values from (1) to (5)`, `create table p2 partition of parts for values from (5) to (9)`,
		`insert into parts values (1), (6)`, `create view v as select * from t where i > 3`, `create materialized view m as select * from t`)
	for query, want := range map[string]int64{
		"select i, upper(s) as s from t where i > 3 and s like 'x%'": 6, "select * from v": 6, "select * from m;": 9, "select i from parts where i > 2": 1,
		"select i, case when i > 4 then 'a' end as g from t -- a remark": 9, "select i from t union all select i from u": 9, "select i from t order by i": 9,
		"with c as (select i from t where i < 3) select * from c": 2,
	} {
		if tab, err := Open(t.Context(), Source{Address: a, Query: strings.TrimSuffix(query, ";")}, nil, 0); err != nil || tab.Rows() != want {
			t.Errorf("%s: %v", query, err)
		} else {
			tab.Close()
		}
	}
	wrong := map[string]string{
		"select i from t limit 3": "has a limit", "select i from t offset 2": "has a limit", "select count(*) as i from t": "groups rows", "select distinct i from t": "", "select i, count(*) as n from t group by i": "groups rows",
		"select t.i from t join u on t.i = u.i": "joins tables", "select t.i from t, u": "joins tables", "select i, rank() over (order by i) as r from t": "has a window",
		"select i from t where i in (select i from u)": "", "select i, (select max(i) from u) as m from t": "", "select i from t where exists (select 1 from u)": "subquery",
		"select i from t intersect select i from u": "", "select i from t tablesample bernoulli (50)": "tablesample", "select generate_series(1, i) as i from t": "several rows",
		"select i from t union all select i from t": "more than once", "delete from t returning i": "", "select i from t; drop table u": "one SQL statement",
		"values (1), (2)": "list of values", "select i from nowhere": "no such table", "select gone from t": "not there",
	}
	for query, why := range wrong {
		tab, err := Open(t.Context(), Source{Address: a, Query: query}, nil, 0)
		if err == nil {
			tab.Close()
			t.Errorf("%s: was read", query)
		} else if !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", query, err, why)
		}
	}
	for _, name := range []string{"v", "m"} {
		if _, err := Open(t.Context(), Source{Address: a, Table: name}, nil, 0); err == nil || !strings.Contains(err.Error(), "hide a condition") {
			t.Errorf("the view %s as a table: %v", name, err)
		}
	}
	if tab := open(t, Source{Address: a, Table: "parts"}); tab.Rows() != 2 {
		t.Errorf("%d rows of a partitioned table", tab.Rows())
	}
}

// What the server says, which may quote rows, is in no message; neither is an address.
func TestSilence(t *testing.T) {
	a := schema(t, `create table t (i int, s text)`, `insert into t values (5, 'secret')`, `create table hidden (i int)`, `alter table hidden enable row level security`,
		`create policy p on hidden using (i < 3)`, `do $$ begin if not exists (select from pg_roles where rolname = 'reader') then create role reader login; end if; end $$`,
		`grant usage on schema public to reader`, `do $$ begin execute 'grant usage on schema ' || current_schema || ' to reader'; end $$`, `grant select on hidden to reader`)
	messages := map[string]error{}
	for _, s := range []Source{
		{Address: a, Query: "select 1 / (i - 5) as i from t"}, {Address: a, Query: "select s::int as i from t"}, {Address: a, Table: "gone"},
		{Address: strings.Replace(a, "ledger@", "reader@", 1), Table: "hidden"}, {Address: strings.Replace(a, "ledger@", "reader@", 1), Table: "t"},
		{Address: "postgres://nobody@127.0.0.1:1/secret", Table: "t"}, {Address: strings.Replace(a, "ledger@", "nobody@", 1), Table: "t"},
	} {
		tab, err := Open(t.Context(), s, nil, 0)
		if err == nil {
			tab.Close()
			t.Errorf("%s %s was read", s.Table, s.Query)
			continue
		}
		messages[s.Table+s.Query] = err
		for _, word := range []string{"secret", "127.0.0.1", "nobody", "reader@", "division", "5", "ERROR"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%q holds %q", err, word)
			}
		}
	}
	if err := messages["hidden"]; err == nil || !strings.Contains(err.Error(), "policy hides rows") {
		t.Errorf("a table with a policy: %v", err)
	}
	texts := map[string]bool{}
	for _, q := range []string{"select 1 / (i - 5) as i from t", "select s::int as i from t"} {
		texts[fmt.Sprint(messages[q])] = true
	}
	if len(texts) != 1 {
		t.Errorf("failures on values differ: %v", slices.Collect(maps.Keys(texts)))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(gone, Source{Address: a, Table: "t"}, nil, 0); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// A query that looks at other rows inside a function, or in what stands behind an operator, a cast or a view, passes the
// check of plans. It is refused for what it calls, and none of it is run.
func TestCalls(t *testing.T) {
	a := schema(t, `create table t (i int, s text, ill bool, day date)`, `insert into t select n, 'x' || n, n = 5, '2024-01-01' from generate_series(1, 9) n`,
		`create function peek(n int) returns bigint language sql volatile as 'select count(*) from t where ill'`,
		`create function lies(n int) returns bigint language plpgsql immutable as 'begin return (select count(*) from t where ill); end'`,
		`create function same(n int, m int) returns bool language plpgsql immutable as 'begin return exists (select from t where ill); end'`,
		`create operator === (leftarg = int, rightarg = int, function = same)`,
		`create domain guarded as int check (lies(value) >= 0)`, `create type boxed as (n int)`,
		`create function unbox(b text) returns boxed language plpgsql immutable as 'begin return row((select count(*) from t where ill)); end'`,
		`create cast (text as boxed) with function unbox(text)`,
		`create aggregate peeks(int) (sfunc = int4pl, stype = int, initcond = '0')`,
		`create view v as select i, lies(i) as n from t`, `create view fine as select i, abs(i) as n from t`)
	for query, why := range map[string]string{
		"select i, query_to_xml('select 1 from t where ill', true, false, '')::text as x from t": "calls ",
		"select i, peek(i) as x from t":                                  "that somebody wrote",
		"select i, lies(i) as x from t":                                  "that somebody wrote",
		"select i from t where i === 5":                                  "that somebody wrote",
		"select i from t where not (i === any(array[1, 2]))":             "that somebody wrote",
		"select i::guarded as i from t":                                  "not known to be made of one row",
		"select (s::boxed)::text as s from t":                            "",
		"select n from v":                                                "that somebody wrote",
		"select peeks(i) as i from t":                                    "that somebody wrote",
		"select case when lies(i) > 0 then 1 else 0 end as i from t":     "that somebody wrote",
		"select i from t order by lies(i)":                               "that somebody wrote",
		"select i from t where pg_relation_size('t') > 0":                "calls pg_relation_size",
		"select i, random() as r from t":                                 "calls random",
		"select i from t where day < current_date":                       "not known to be made of one row",
		"select i, current_setting('server_version') as s from t":        "calls current_setting",
		"select i, to_char(day, 'YYYY') as y from t":                     "not immutable",
		"select i, s::date as d from t":                                  "calls date_in",
		"select i, table_to_xml('t', true, false, '')::text as x from t": "calls ",
		"select i, (select xmlforest(i))::text as \":funcid 1\" from t":  "",
		"select i, lo_get(1) as \"{VAR\" from t":                         "calls lo_get",
	} {
		for _, f := range []func() (*table.Table, error){
			func() (*table.Table, error) { return Open(t.Context(), Source{Address: a, Query: query}, nil, 0) },
			func() (*table.Table, error) { return Describe(t.Context(), Source{Address: a, Query: query}, nil) },
		} {
			if tab, err := f(); err == nil {
				tab.Close()
				t.Errorf("%s: was read", query)
			} else if !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", query, err, why)
			}
		}
	}
	for _, query := range []string{
		"select i, n from fine where n > 3", "select i::text as i, lower(s) || '!' as s, coalesce(i, 0) as c, greatest(i, 3) as g from t where s ilike 'x%' and i between 2 and 5",
		"select extract(year from day) as y, substring(s from 2)::int as n, i in (1, 2) as b, nullif(i, 3) as m from t", "select i as \"{LIES :funcid 99999\\ (\" from t",
		"select i, round(i / 3.0, 2) as r, date_trunc('month', day::timestamp) as m from t where i is distinct from 4",
	} {
		if tab, err := Open(t.Context(), Source{Address: a, Query: query}, nil, 0); err != nil || tab.Rows() == 0 {
			t.Errorf("%s: %v", query, err)
		} else {
			tab.Close()
		}
	}
}

// Describe reads no value: a query that fails on a row is described like any other, and every failure on a row is one error.
func TestDescribe(t *testing.T) {
	a := schema(t, `create table t (i int, s text)`, `insert into t values (5, 'secret'), (6, '7')`)
	texts := map[string]bool{}
	for _, query := range []string{"select 1 / (i - 5) as i from t", "select s::int as i from t", "select i from t where 1/(case when s = 'secret' then 0 else 1 end) = 1",
		"select (i * 1000000000) as i from t", "select length(repeat(s, 300000000)) as i from t", "select repeat('x', 20000000 * i) as i from t where repeat(s, 400000000) > 'a'"} {
		tab, err := Describe(t.Context(), Source{Address: a, Query: query}, []string{"i"})
		if err != nil || tab.Rows() != 0 || len(tab.Columns()) != 1 {
			t.Errorf("%s: %v", query, err)
			continue
		}
		tab.Close()
		if tab, err = Open(t.Context(), Source{Address: a, Query: query}, []string{"i"}, 0); err == nil {
			tab.Close()
			t.Errorf("%s: was read", query)
			continue
		}
		texts[err.Error()] = true
	}
	if len(texts) != 1 {
		t.Errorf("failures on rows differ: %v", slices.Collect(maps.Keys(texts)))
	}
}

// A column that the user may not read is named before a row is read; a query that leaves it out is read.
func TestDeniedColumn(t *testing.T) {
	a := schema(t, `create table part (i int, s text, ill bool)`, `insert into part values (5, 'secret', true)`, `create table none (i int)`,
		`do $$ begin if not exists (select from pg_roles where rolname = 'reader') then create role reader login; end if; end $$`,
		`do $$ begin execute 'grant usage on schema ' || current_schema || ' to reader'; end $$`, `grant select (i) on part to reader`)
	reader := strings.Replace(a, "ledger@", "reader@", 1)
	for _, describe := range []func(Source) error{
		func(s Source) error { _, err := Open(t.Context(), s, nil, 0); return err },
		func(s Source) error { _, err := Describe(t.Context(), s, nil); return err },
	} {
		for name, says := range map[string]string{"part": "may not read the columns s, ill", "none": "may read none of its columns"} {
			if err := describe(Source{Address: reader, Table: name}); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := func() error {
		_, err := Open(t.Context(), Source{Address: reader, Query: "select s from part"}, nil, 0)
		return err
	}(); err == nil || !strings.Contains(err.Error(), "a right is missing") {
		t.Errorf("a query of a denied column: %v", err)
	}
	if tab := open(t, Source{Address: reader, Query: "select i from part"}); tab.Rows() != 1 {
		t.Errorf("%d rows", tab.Rows())
	}
}
