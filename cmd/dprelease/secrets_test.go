//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A credential in an address is printed nowhere: not by a command that is given the address, and not by one that
// reads it in a job, in any role.
func TestCredentials(t *testing.T) {
	dir := begin(t)
	const secret = "wJalrXUt/nFEMI"
	const where = "s3://AKIAIOSFODNN7:" + secret + "@bucket/x.parquet"
	all := commandsFor(t, dir, where)
	for name, text := range map[string]string{"misplaced": strings.Replace(roleOf("", "x"), "{path: people.csv}", where, 1),
		"output": strings.Replace(roleOf("", "x"), "{dir: out}", "{dir: '"+where+"'}", 1), "option": roleOf("source", "'s3://bucket/x?secret_access_key="+secret+"'"),
		"ledger2": strings.Replace(roleOf("", "x"), "sqlite:l.db", "'"+where+"'", 1), "id": strings.Replace(roleOf("", "x"), "id: people", "id: '"+where+"'", 1)} {
		path := filepath.Join(dir, name+"-job.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all[name] = []string{"run", "--json", path}
	}
	all["report"], all["init"], all["releases"] = []string{"report", where}, []string{"init", where, "-o", filepath.Join(dir, "new.yaml")}, []string{"ledger", "verify", "sqlite:" + filepath.Join(dir, "l.db"), "--releases", where}
	all["postgres"] = []string{"ledger", "show", "postgres://user:" + secret + "@127.0.0.1:1/db"}
	for what, args := range all {
		exit, out, errs := reallyRun(t, args)
		if strings.Contains(out+errs, "wJalrXUt") || strings.Contains(out+errs, "nFEMI") {
			t.Errorf("%s: dprelease %v prints a credential:\n%s%s", what, args, out, errs)
		}
		if exit == 0 && !strings.HasPrefix(what, "pilot") && !strings.HasPrefix(what, "account") {
			t.Errorf("%s: dprelease %v: an address with a credential is taken", what, args)
		}
	}
}
