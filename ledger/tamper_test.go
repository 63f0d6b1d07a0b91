package ledger

import (
	"fmt"
	"strings"
	"testing"
)

// restated is the statement that changes fields of all accounts or nodes: the last one of a name counts.
func restated(table, fields string) string {
	return "UPDATE dprelease_" + table + " SET state = SUBSTR(state, 1, LENGTH(state) - 1) || '," + fields + "}'"
}

// A debit trusts the chain and no row: whoever changes the tables in a way that would
// lead to spending twice, to another limit or to a second output is refused before
// anything is drawn, with what disagrees.
func TestDebitTrustsTheChain(t *testing.T) {
	other := people
	other.Dataset = "others"
	// Two accounts in turns, so that the newest record is of the other one. Records: 2
	// and 6 open them; 3, 4, 5 are p; 7, 8, 9 the other account's; 10, 11, 12 are q; 13,
	// 14, 15 the other account's second; 16, 17, 18 keep a sample.
	build := func(t *testing.T, at string) {
		l := open(t, at)
		released(t, l, "p")
		for i, plan := range []string{"o", "q", "o2"} {
			q := request(plan, 0.125)
			if i != 1 {
				q.Account = other
			}
			k := debit(t, l, q)
			if err := l.Seal(background, k, "c", someFiles); err != nil {
				t.Fatal(err)
			}
			if err := l.Publish(background, k.Release); err != nil {
				t.Fatal(err)
			}
		}
		id := sampleID(1)
		sealKept(t, l, debit(t, l, keeping("k", id, 0.25, 0)), id)
		l.Close()
	}
	last := "(SELECT MAX(seq) FROM dprelease_records)"
	backTo := func(seq int) []string { // the account of p as it was after its first debit
		return []string{restated("accounts", `"spent":["1/8","0"],"debits":1,"acts":2`) + fmt.Sprintf(", last = %d WHERE id = 2", seq)}
	}
	for name, statements := range map[string][]string{
		"spent is lowered":                    {restated("accounts", `"spent":["0","0"]`)},
		"spent is lowered to what it was":     {restated("accounts", `"spent":["1/8","0"]`) + " WHERE id = 2"},
		"the limit is raised":                 {restated("accounts", `"limit":{"epsilon":"100","delta":"1/1000"}`)},
		"the limit's δ is raised":             {restated("accounts", `"limit":{"epsilon":"1","delta":"1"}`)},
		"an account keeps more columns":       {restated("accounts", `"keeps":["region"]`)},
		"an account's kept columns are open":  {restated("accounts", `"keeps":null`)},
		"the filter is another":               {restated("accounts", `"filter":"zcdp","spent":["0"]`)},
		"an account has another name":         {"UPDATE dprelease_accounts SET dataset = 'x' WHERE id = 2"},
		"an account has another unit":         {"UPDATE dprelease_accounts SET unit = 'x' WHERE id = 2"},
		"an account is gone":                  {"DELETE FROM dprelease_accounts WHERE id = 2"},
		"all accounts are gone":               {"DELETE FROM dprelease_accounts"},
		"two accounts change places":          {"UPDATE dprelease_accounts SET dataset = 'x' WHERE id = 2", "UPDATE dprelease_accounts SET dataset = 'people' WHERE id = 6"},
		"an account as it was":                backTo(3),
		"an account as it was, later records": append(backTo(3), "DELETE FROM dprelease_records WHERE seq IN (10, 11, 12)", "DELETE FROM dprelease_releases WHERE id = 10"),
		"an account's newest record is gone":  {"DELETE FROM dprelease_records WHERE seq = 16"},
		"its text is another":                 {`UPDATE dprelease_records SET body = REPLACE(body, '"spent":["', '"spent":["0') WHERE seq = 16`},
		"the last record is gone":             {"DELETE FROM dprelease_records WHERE seq = " + last},
		"and the head goes back":              {"DELETE FROM dprelease_records WHERE seq = " + last, "UPDATE dprelease_head SET seq = seq - 1, hash = (SELECT hash FROM dprelease_records WHERE seq = " + last + ")"},
		"the head goes back":                  {"UPDATE dprelease_head SET seq = 12, hash = (SELECT hash FROM dprelease_records WHERE seq = 12)"},
		"records are cut off with the head": {"DELETE FROM dprelease_records WHERE seq > 12", "DELETE FROM dprelease_releases WHERE id > 12",
			"UPDATE dprelease_head SET seq = 12, hash = (SELECT hash FROM dprelease_records WHERE seq = 12)"},
		"a record is put in":           {"INSERT INTO dprelease_records (seq, kind, body, prev, hash) VALUES (99, 'limit', '{}', '', '')"},
		"a limit is put in":            {"UPDATE dprelease_records SET kind = 'limit' WHERE seq = " + last},
		"a release is gone":            {"DELETE FROM dprelease_releases WHERE id = 3"},
		"a release is given up":        {"UPDATE dprelease_releases SET state = 'abandoned' WHERE id = 3"},
		"a release is only debited":    {"UPDATE dprelease_releases SET state = 'debited', holder = '', lease_until = 0 WHERE id = 3"},
		"a release of another plan":    {"UPDATE dprelease_releases SET plan = 'x' WHERE id = 3"},
		"a release of other data":      {"UPDATE dprelease_releases SET content = 'x' WHERE id = 3"},
		"stored bytes are others":      {"UPDATE dprelease_releases SET archive_digest = 'x' WHERE id = 3"},
		"a sample costs less":          {restated("nodes", `"Spent":{"epsilon":"0","delta":"0"}`)},
		"a sample was charged more":    {restated("nodes", `"Charged":{"epsilon":"9","delta":"0"}`)},
		"a sample of another draw":     {"UPDATE dprelease_nodes SET state = REPLACE(state, ':20', ':21')"},
		"a sample is gone":             {"DELETE FROM dprelease_nodes"},
		"the secret is another":        {"UPDATE dprelease_head SET secret = REPLACE(REPLACE(REPLACE(secret, '1', '2'), 'a', 'b'), '7', '8')"},
		"the tree is gone":             {"DELETE FROM dprelease_tree"},
		"a digest of the tree is gone": {"DELETE FROM dprelease_tree WHERE LENGTH(path) = 3"},
	} {
		t.Run(name, func(t *testing.T) {
			onOne(t, func(t *testing.T, at string) {
				build(t, at)
				raw := rawDB(t, at)
				for _, s := range statements {
					if _, err := raw.Exec(s); err != nil {
						t.Fatal(err)
					}
				}
				raw.Close()
				// Every way in which a run comes to its account, one of which must be refused,
				// and none of which may find less spent or release p anew.
				refused, spends := "", 0
				try := func(q Request) {
					l := open(t, at)
					defer l.Close()
					s, err := asking(l, q)
					switch {
					case err != nil:
						if codeOf(err) != CodeTampered {
							t.Errorf("%v", err)
						}
						refused = err.Error()
					case s.Ticket != nil:
						spends++
						if codeOf(l.Renew(background, s.Ticket)) != "" {
							t.Error("a ticket that is not held")
						}
					}
				}
				again := request("p", 0.125)
				again.Content, again.Again = "c", true
				try(again)
				if spends > 0 {
					t.Fatal("p was released, and is debited again")
				}
				try(keptBefore(keeping("u", sampleID(1), 0.25, 0), 1))
				try(request("new", 0.125))
				if refused == "" {
					t.Fatal("nothing is refused")
				}
				for _, want := range []string{"disagrees with its own chain", "nothing was drawn or spent", "dprelease ledger verify"} {
					if !strings.Contains(refused, want) {
						t.Errorf("says %q, want %q", refused, want)
					}
				}
				// What the account was changed about is refused at once.
				if strings.Contains(name, "account") || strings.Contains(name, "spent") || strings.Contains(name, "limit") {
					if spends > 0 {
						t.Errorf("%d debits went through; refused: %s", spends, refused)
					}
				}
				l := open(t, at)
				defer l.Close()
				if v, err := l.Verify(background, nil); err != nil || len(v.Findings()) == 0 {
					t.Errorf("an audit finds nothing: %v", err)
				}
			})
		})
	}
}

// What a debit costs does not grow with what the ledger holds: the tree reads four nodes
// of a key.
func TestTree(t *testing.T) {
	s, n := newTree(), 5000
	if testing.Short() {
		n = 1000
	}
	for i := range n {
		s.put(fmt.Sprint("key", i), digestOf([]byte{byte(i)}))
	}
	root := s.root()
	for i := range n {
		if d, ok := s.get(root, fmt.Sprint("key", i)); !ok || d != digestOf([]byte{byte(i)}) {
			t.Fatalf("key %d: %q, %v", i, d, ok)
		}
	}
	if d, ok := s.get(root, "nobody"); !ok || d != "" {
		t.Errorf("a key that is not there: %q, %v", d, ok)
	}
	if _, ok := s.get(strings.Repeat("0", 64), "key1"); ok {
		t.Error("another root")
	}
	for path, text := range s.nodes {
		if len(path) == treeDepth && len(path)%2 == 1 {
			s.nodes[path] = strings.Replace(text, "a", "b", 1)
			for i := range 50 {
				if d, ok := s.get(root, fmt.Sprint("key", i)); ok && d != digestOf([]byte{byte(i)}) {
					t.Fatalf("a digest that was changed is believed: key %d", i)
				}
			}
			s.nodes[path] = text
		}
	}
	// A node that no other leads to says nothing.
	alone := newTree()
	alone.put("known", "1")
	other := newTree()
	other.put("forged", "2")
	for p, text := range other.nodes {
		if _, ok := alone.nodes[p]; !ok {
			alone.nodes[p] = text
		}
	}
	if d, ok := alone.get(alone.root(), "forged"); ok && d != "" {
		t.Error("a node that no other leads to is believed")
	}
	empty := newTree()
	empty.nodes[pathsOf("new")[treeDepth]] = digestOf([]byte("forged")) + " 2"
	if d, ok := empty.get("", "new"); !ok || d != "" {
		t.Errorf("a key of an empty tree: %q, %v", d, ok)
	}
	empty.put("new", "1")
	if strings.Contains(empty.nodes[pathsOf("new")[treeDepth]], " 2") {
		t.Error("a node that no other led to has entered the tree")
	}
}
