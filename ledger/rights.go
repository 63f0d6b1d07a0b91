package ledger

import (
	"context"
	"strings"
)

// right is a permission that the role of a ledger in PostgreSQL needs for a table, beside reading it.
type right struct {
	table string
	verbs []string
}

// rights are those of all statements of this package, but for those that found a ledger. A test compares them with the
// statements, and with docs/ledger.md.
var rights = []right{
	{versionTable, nil},
	{"dprelease_head", []string{"UPDATE"}},
	{"dprelease_records", []string{"INSERT"}},
	{"dprelease_tree", []string{"INSERT", "UPDATE"}},
	{"dprelease_accounts", []string{"INSERT", "UPDATE"}},
	{"dprelease_slices", []string{"INSERT", "UPDATE"}},
	{"dprelease_releases", []string{"INSERT", "UPDATE"}},
	{"dprelease_nodes", []string{"INSERT", "UPDATE"}},
	{"dprelease_columns", []string{"INSERT", "UPDATE"}},
	{"dprelease_separate", []string{"INSERT"}},
	{"dprelease_archives", []string{"INSERT"}},
	{"dprelease_failures", []string{"INSERT"}},
	{"dprelease_keys", []string{"INSERT", "DELETE"}},
	{"dprelease_leftovers", []string{"INSERT", "DELETE"}},
}

// permitted refuses a role that could not carry out every statement of a run: a right that is missing would be noticed after the
// debit. It refuses a server that takes no writes, such as a standby, too.
func (l *Ledger) permitted(ctx context.Context) error {
	if l.dialect != &postgresDialect {
		return nil
	}
	var wanted []string
	for _, r := range rights {
		wanted = append(wanted, "('"+r.table+"', 'SELECT')")
		for _, verb := range r.verbs {
			if !l.options.ReadOnly {
				wanted = append(wanted, "('"+r.table+"', '"+verb+"')")
			}
		}
	}
	var missing string
	var standby bool
	const query = "SELECT COALESCE(string_agg(v || ' on ' || t, ', ' ORDER BY t, v), ''), current_setting('transaction_read_only') " +
		"= 'on' FROM (VALUES "
	err := l.conn.QueryRowContext(ctx,
		query+strings.Join(wanted, ", ")+") AS wanted (t, v) WHERE NOT has_table_privilege(t, v)").Scan(&missing, &standby)
	switch {
	case err != nil:
		return l.address.classify(err)
	case missing != "":
		return refuse(CodeReadOnly,
			"the user of %s lacks rights: grant %s (docs/ledger.md lists what a least role needs); nothing was changed", l.address, missing)
	case standby && !l.options.ReadOnly:
		return refuse(CodeReadOnly, "%s takes no writes: the server is a standby, or its user may only read; nothing was changed", l.address)
	}
	return nil
}
