package database

import (
	"context"
	"encoding/json"

	"github.com/dprelease/dprelease/internal/data/table"
)

// node is a step of the server's plan.
type node struct {
	Type     string `json:"Node Type"`
	Parent   string `json:"Parent Relationship"`
	Schema   string `json:"Schema"`
	Relation string `json:"Relation Name"`
	Plans    []node `json:"Plans"`
}

// rowwise are the steps that return at most one row for each row of one relation.
var rowwise = map[string]bool{
	"Seq Scan": true, "Index Scan": true, "Index Only Scan": true, "Bitmap Heap Scan": true, "Bitmap Index Scan": true, "BitmapAnd": true,
	"BitmapOr": true, "Tid Scan": true, "Tid Range Scan": true, "Append": true, "Merge Append": true, "Gather": true, "Gather Merge": true,
	"Result": true, "Subquery Scan": true, "Sort": true, "Incremental Sort": true,
}

// judge refuses a query if a row of the result may depend on several rows of a table: a unit could change the rows of
// others, which no charge covers. The server plans the query and does not run it.
func judge(ctx context.Context, tx *session, query string) error {
	row, err := tx.row(ctx, "explain (verbose, format json) "+query)
	if err != nil {
		return refused(ctx, err)
	}
	var plans []struct{ Plan *node }
	if json.Unmarshal([]byte(row[0]), &plans) != nil || len(plans) != 1 || plans[0].Plan == nil {
		return &table.Error{Code: table.CodeUnsupported, Detail: "the server does not say how it carries the query out"}
	}
	if why := plans[0].Plan.wrong(map[string]bool{}); why != "" {
		return &table.Error{Code: table.CodeUnsupported, Detail: "the query " + why +
			": each of its rows must be made of one row of one table, so that nobody's rows change those of others; " +
			"choose rows and columns here, and do the rest with fold, where, by and lookups, or in a table that is written before"}
	}
	return nil
}

// wrong describes the part of a plan that is not done row by row, or returns "". seen are
// the relations so far.
func (n *node) wrong(seen map[string]bool) string {
	switch {
	case n.Parent == "SubPlan" || n.Parent == "InitPlan":
		return "holds a subquery that looks at other rows"
	case !rowwise[n.Type]:
		if why, ok := words[n.Type]; ok {
			return why
		}
		return "is not carried out row by row"
	}
	if n.Relation != "" {
		name := n.Schema + "\x00" + n.Relation
		if seen[name] {
			return "reads a table more than once"
		}
		seen[name] = true
	}
	for i := range n.Plans {
		if why := n.Plans[i].wrong(seen); why != "" {
			return why
		}
	}
	return ""
}

var words = map[string]string{
	"Limit": "has a limit", "Aggregate": "groups rows, or names some only once", "Group": "groups rows", "WindowAgg": "has a window",
	"Unique": "names rows only once", "SetOp": "compares tables",
	"Nested Loop": "joins tables", "Hash Join": "joins tables", "Merge Join": "joins tables", "Sample Scan": "has a tablesample",
	"ProjectSet":    "makes several rows of one",
	"Function Scan": "reads a function", "CTE Scan": "reads a part of itself again", "Recursive Union": "is recursive",
	"Foreign Scan": "reads a foreign table", "ModifyTable": "changes a table",
	"Values Scan": "reads a list of values", "LockRows": "locks rows",
}
