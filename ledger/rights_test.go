package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
)

// wrote finds the table that a statement changes, and the rest of the statement.
var wrote = regexp.MustCompile("(?:(INSERT) INTO |(UPDATE) |(DELETE) FROM |t\\.(upsert)\\(\")(dprelease_\\w+)")

// The list of rights is that of the statements of this package: one that is missing would be found after a debit.
func TestRightsAreThoseOfTheStatements(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range wrote.FindAllStringSubmatch(string(text), -1) {
			verb, table := m[1]+m[2]+m[3], m[5]
			if found[table] == nil {
				found[table] = map[string]bool{}
			}
			if m[4] == "upsert" {
				verb, found[table]["UPDATE"] = "INSERT", true
			}
			found[table][verb] = true
		}
	}
	delete(found["dprelease_head"], "INSERT") // only who founds a ledger
	for _, r := range rights {
		for _, verb := range []string{"INSERT", "UPDATE", "DELETE"} {
			if slices.Contains(r.verbs, verb) != found[r.table][verb] {
				t.Errorf("%s on %s: listed %v, found %v", verb, r.table, slices.Contains(r.verbs, verb), found[r.table][verb])
			}
		}
		delete(found, r.table)
	}
	if len(found) > 0 || len(rights) != len(regexp.MustCompile(`(?m)CREATE TABLE `).FindAllString(strings.Join(schema, "\n"), -1)) {
		t.Errorf("tables without a line: %v", found)
	}
}

// grants are the statements that give a role what it needs, table by table, without those that spare leaves out.
func grants(role string, spare func(table, verb string) bool) (out []string) {
	for _, r := range rights {
		for _, verb := range append([]string{"SELECT"}, r.verbs...) {
			if !spare(r.table, verb) {
				out = append(out, "GRANT "+verb+" ON "+r.table+" TO "+role)
			}
		}
	}
	return out
}

// A role with exactly the rights of the list debits, seals, publishes, keeps a sample and forgets a folder. Without one of them the
// ledger is refused as it is opened, by name, and nothing is debited.
func TestLeastRole(t *testing.T) {
	at := postgrestest.New(t)
	schema := at[strings.LastIndex(at, "=")+1:]
	open(t, at)
	role := schema + "_least"
	onServer(t, "CREATE ROLE "+role+" LOGIN", "GRANT USAGE ON SCHEMA "+schema+" TO "+role)
	within := func(statements []string) []string {
		return append([]string{"SET search_path = " + schema}, statements...)
	}
	as := address(t, strings.Replace(at, "ledger@", role+"@", 1))
	for _, r := range rights {
		for _, verb := range append([]string{"SELECT"}, r.verbs...) {
			if r.table == versionTable {
				continue // what it is finds no ledger without it
			}
			onServer(t, strings.Join(within(append([]string{"REVOKE ALL ON ALL TABLES IN SCHEMA " + schema + " FROM " + role},
				grants(role, func(table, v string) bool { return table == r.table && v == verb })...)), "; "))
			_, err := Open(background, as, Options{By: "me"})
			var known *Error
			if !errors.As(err, &known) || known.Code != CodeReadOnly || verb != "SELECT" && !strings.Contains(known.Message, verb+" on "+r.table) {
				t.Errorf("without %s on %s: %v", verb, r.table, err)
			}
		}
	}
	onServer(t, strings.Join(within(grants(role, func(string, string) bool { return false })), "; "))
	l, err := Open(background, as, Options{By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	id := sampleID(1)
	k := debit(t, l, keeping("p", id, 1, 0))
	sealKept(t, l, k, id)
	if err := l.Publish(background, k.Release); err != nil {
		t.Error(err)
	}
	if err := l.Forget(background, k.Release); err != nil {
		t.Error(err)
	}
	onServer(t, "ALTER ROLE "+role+" SET default_transaction_read_only = on")
	if _, err := Open(background, as, Options{By: "me"}); err == nil || !strings.Contains(err.Error(), "takes no writes") {
		t.Errorf("a role that may only read: %v", err)
	}
}

// The page for people lists the same.
func TestRightsAreOnTheirPage(t *testing.T) {
	page, err := os.ReadFile("../docs/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`GRANT ([A-Z, ]+) ON ([a-z_, \n]+?) TO`).FindAllStringSubmatch(string(page), -1) {
		for _, table := range strings.Split(m[2], ",") {
			for _, verb := range strings.Split(m[1], ",") {
				listed[strings.TrimSpace(verb)+" "+strings.TrimSpace(table)] = true
			}
		}
	}
	for _, r := range rights {
		for _, verb := range append([]string{"SELECT"}, r.verbs...) {
			if !listed[verb+" "+r.table] {
				t.Errorf("the page grants no %s on %s", verb, r.table)
			}
			delete(listed, verb+" "+r.table)
		}
	}
	if len(listed) > 0 {
		t.Errorf("the page grants what nobody needs: %v", listed)
	}
}
