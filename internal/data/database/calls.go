package database

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dprelease/dprelease/internal/data/table"
)

// firstUserOID is the first oid that PostgreSQL gives to what somebody creates.
const firstUserOID = 16384

// Parts of a query tree as the server writes it: the functions and operators that it calls, the types that it casts to
// by their text form, and the kinds of its nodes.
var (
	treeEscapes   = regexp.MustCompile(`\\.`)
	treeFunctions = regexp.MustCompile(`:(?:funcid|opfuncid|hashfuncid|negfuncid|aggfnoid|winfnoid)\s+(\d+)`)
	treeOperators = regexp.MustCompile(`:opno\s+(\d+)`)
	treeCasts     = regexp.MustCompile(`:resulttype\s+(\d+)`)
	treeNodes     = regexp.MustCompile(`\{([A-Z]+)`)
)

// known are the nodes of a query tree that call nothing, or only what treeFunctions and treeOperators find. Steps that
// look at other rows are known, too: judge refuses them with a reason. PostgreSQL 16 gave some of them longer names.
var known = strings.Fields(
	`QUERY RTE RANGETBLENTRY RTEPERMISSIONINFO ALIAS FROMEXPR RANGETBLREF TARGETENTRY VAR CONST FUNCEXPR NAMEDARGEXPR OPEXPR BOOLEXPR
	CASE CASEEXPR WHEN CASEWHEN CASETESTEXPR COALESCE COALESCEEXPR MINMAX MINMAXEXPR NULLTEST BOOLEANTEST NULLIFEXPR DISTINCTEXPR
	SCALARARRAYOPEXPR ARRAY ARRAYEXPR RELABELTYPE COERCEVIAIO COLLATE COLLATEEXPR SORTGROUPCLAUSE SETOPERATIONSTMT COMMONTABLEEXPR
	AGGREF WINDOWFUNC WINDOWCLAUSE SUBLINK JOINEXPR TABLESAMPLECLAUSE RANGETBLFUNCTION ROWMARKCLAUSE GROUPINGFUNC GROUPINGSET`)

// trees collects the query trees that the server sends as notices while it is on.
type trees struct {
	on   bool
	text []string
}

func (t *trees) notice(_ *pgconn.PgConn, n *pgconn.Notice) {
	if t.on && strings.Contains(n.Detail, "{QUERY") { // the server's words for it are in its own language
		t.text = append(t.text, n.Detail)
	}
}

// pure refuses a query that calls anything but immutable functions that are built into PostgreSQL (P33). Such a function
// sees its arguments and nothing else: it reads no table and runs no text as SQL. Functions of operators, casts and
// aggregates count as well, in views, too: the server parses the query, puts views in their place, and says what it calls.
// The server does not run the query, and evaluates nothing of it.
func pure(ctx context.Context, tx *session, query string, seen *trees) error {
	refuse := func(why string) error {
		return &table.Error{Code: table.CodeUnsupported, Detail: "the query " + why +
			": it may only call immutable functions that are built into PostgreSQL, which see one row and no table"}
	}
	for _, set := range []string{"client_min_messages = log", "debug_pretty_print = off", "debug_print_rewritten = on"} {
		if err := tx.exec(ctx, "set local "+set); err != nil {
			return refused(ctx, err)
		}
	}
	seen.on, seen.text = true, nil
	_, err := tx.Prepare(ctx, "", query, nil)
	seen.on = false
	if err != nil {
		return refused(ctx, err)
	}
	for _, set := range []string{"debug_print_rewritten = off", "client_min_messages = warning"} {
		if err := tx.exec(ctx, "set local "+set); err != nil {
			return refused(ctx, err)
		}
	}
	if len(seen.text) != 1 {
		return refuse("cannot be looked into, because the server does not say what it calls")
	}
	tree := treeEscapes.ReplaceAllString(seen.text[0], "_") // a name may hold any character, behind a backslash
	nodes := oids(treeNodes, tree)
	for _, node := range nodes {
		if !slices.Contains(known, node) {
			return refuse("holds something that is not known to be made of one row alone")
		}
	}
	var casts []string
	if slices.Contains(nodes, "COERCEVIAIO") {
		casts = oids(treeCasts, tree)
	}
	// A cast by text calls the output function of one type and the input function of the other. Output functions of
	// built-in types depend on the value and on settings that Open fixes.
	const statement = `
		with called as (
			select f::oid as oid from unnest($1::text[]) f
			union select coalesce((select oprcode::oid from pg_catalog.pg_operator where oid = o::oid), 0) from unnest($2::text[]) o
			union select coalesce((select case when oid < $4 and typtype = 'b' then typinput::oid end
				from pg_catalog.pg_type where oid = t::oid), 0) from unnest($3::text[]) t)
		select coalesce(p.proname::text, ''), p.oid is not null and p.oid < $4 and p.pronamespace = 'pg_catalog'::regnamespace
		from called c left join pg_catalog.pg_proc p on p.oid = c.oid
		where p.oid is null or p.oid >= $4 or p.pronamespace <> 'pg_catalog'::regnamespace or p.provolatile <> 'i' order by 1 limit 1`
	array := func(oids []string) string { return "{" + strings.Join(oids, ",") + "}" } // of digits alone
	row, err := tx.row(ctx, statement, array(oids(treeFunctions, tree)), array(oids(treeOperators, tree)), array(casts),
		strconv.Itoa(firstUserOID))
	switch {
	case err == errNoRow:
		return nil
	case err != nil:
		return refused(ctx, err)
	case row[1] == "t": // built in
		return refuse("calls " + row[0] + ", which is not immutable")
	}
	return refuse("calls a function that somebody wrote")
}

// oids are the different first groups of a pattern in a tree, without 0: no function.
func oids(pattern *regexp.Regexp, tree string) []string {
	out := []string{}
	for _, m := range pattern.FindAllStringSubmatch(tree, -1) {
		if m[1] != "0" {
			out = append(out, m[1])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
