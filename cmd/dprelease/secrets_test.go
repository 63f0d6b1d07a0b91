//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A credential in an address is printed nowhere: not by a command that is given the address, and not by one that
// reads it in a job, in any role.
func TestCredentials(t *testing.T) {
	const where = "s3://AKIAIOSFODNN7:wJalrXUt/nFEMI@bucket/x.parquet"
	for i, where := range []string{where, strings.Replace(where, "//", "/", 1), strings.Replace(where, "//", "", 1), " " + where, "\t" + where,
		"host=db.example.org password=wJalrXUt/nFEMI dbname=people", "host=db password = 'wJalrXUt nFEMI'", "postgres:/me:wJalrXUt/nFEMI@db/people"} {
		t.Run(strconv.Itoa(i), func(t *testing.T) { printsNoCredential(t, where) })
		if testing.Short() {
			break
		}
	}
}

// printsNoCredential has every command, and a job in every role, see an address with a credential.
func printsNoCredential(t *testing.T, where string) {
	dir := begin(t)
	all := commandsFor(t, dir, where)
	quoted := `"` + strings.ReplaceAll(where, "\t", `\t`) + `"`
	jobs := map[string]string{"misplaced": strings.Replace(roleOf("", "x"), "{path: people.csv}", quoted, 1),
		"output": strings.Replace(roleOf("", "x"), "{dir: out}", "{dir: "+quoted+"}", 1), "option": roleOf("source", "'s3://bucket/x?secret_access_key=wJalrXUt'"),
		"ledger2": strings.Replace(roleOf("", "x"), "sqlite:l.db", quoted, 1), "ledger3": strings.Replace(roleOf("", "x"), "sqlite:l.db", strings.Replace(quoted, `"`, `"sqlite:`, 1), 1),
		"id": strings.Replace(roleOf("", "x"), "id: people", "id: "+quoted, 1), "database": strings.Replace(roleOf("", "x"), "{path: people.csv}", "{postgres: "+quoted+", query: select 1}", 1)}
	for role := range roles {
		jobs["quoted "+role] = roleOf(role, quoted)
	}
	for name, text := range jobs {
		path := filepath.Join(dir, name+"-job.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all[name], all[name+" plan"] = []string{"run", "--json", path}, []string{"plan", path}
	}
	all["report"], all["init"], all["releases"] = []string{"report", where}, []string{"init", where, "-o", filepath.Join(dir, "new.yaml")}, []string{"ledger", "verify", "sqlite:" + filepath.Join(dir, "l.db"), "--releases", where}
	all["postgres"] = []string{"ledger", "show", "postgres://user:wJalrXUt@127.0.0.1:1/db"}
	all["ledger of words"], all["ledger of an address"] = []string{"ledger", "show", where}, []string{"ledger", "show", "sqlite:" + where}
	for what, args := range all {
		exit, out, errs := reallyRun(t, args)
		if strings.Contains(out+errs, "wJalrXUt") || strings.Contains(out+errs, "nFEMI") {
			t.Errorf("%s: dprelease %v prints a credential:\n%s%s", what, args, out, errs)
		}
		if exit == 0 && !strings.HasPrefix(what, "pilot") && !strings.HasPrefix(what, "quoted pilot") && !strings.HasPrefix(what, "account") {
			t.Errorf("%s: dprelease %v: an address with a credential is taken", what, args)
		}
	}
	for _, name := range []string{"out", "s3:", "host=db password = 'wJalrXUt nFEMI'"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}
