package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a command, and returns what it says.
func run(t *testing.T, variables []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), variables...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// The package for Debian brings manual pages, completions, units and its user, and so does the one for Red Hat. Stand-ins are in the
// place of the programs.
func TestPackages(t *testing.T) {
	dir := t.TempDir()
	program, share, root := filepath.Join(dir, "program"), filepath.Join(dir, "share"), filepath.Join(dir, "root")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "./share.sh", share)
	variables := []string{"ARCH=amd64", "VERSION=1.2.3", "SOURCE_DATE_EPOCH=1", "SHARE=" + share}
	for _, name := range []string{"PROGRAM", "MECHANISMS", "STORES", "PUBLISH", "DESIGN"} {
		variables = append(variables, name+"="+program)
	}
	for _, kind := range []string{"deb", "rpm"} {
		run(t, variables, "go", "run", "github.com/goreleaser/nfpm/v2/cmd/nfpm", "package", "--config", "nfpm.yaml", "--packager", kind, "--target", dir)
	}
	if made, _ := filepath.Glob(filepath.Join(dir, "*.rpm")); len(made) != 1 {
		t.Errorf("made %v for Red Hat", made)
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is missing; the package was not unpacked")
	}
	made, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	run(t, nil, "dpkg-deb", "--raw-extract", made[0], root)
	for _, name := range []string{
		"usr/bin/dprelease", "usr/bin/dprelease-design", "usr/share/man/man1/dprelease.1.gz", "usr/share/man/man1/dprelease-plugin-check.1.gz",
		"usr/share/bash-completion/completions/dprelease", "usr/share/zsh/vendor-completions/_dprelease",
		"usr/share/fish/vendor_completions.d/dprelease.fish", "usr/lib/systemd/system/dprelease@.service", "usr/lib/systemd/system/dprelease@.timer",
		"usr/lib/sysusers.d/dprelease.conf", "etc/dprelease", "DEBIAN/postinst",
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm()&0o044 != 0o044 {
			t.Errorf("%s: %v", name, err)
		}
	}
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/dprelease@.service"))
	if err != nil || !strings.Contains(string(unit), "\nUser=dprelease\n") {
		t.Errorf("the unit runs as another user than the package makes: %v", err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd is missing; the user was not made, and the units were not verified")
	}
	run(t, nil, "systemd-sysusers", "--root="+root, "dprelease.conf")
	users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !strings.Contains("\n"+string(users), "\ndprelease:") {
		t.Errorf("the package makes no user: %s %v", users, err)
	}
	for _, target := range []string{"sysinit", "basic"} { // every unit is ordered after these
		if err := os.WriteFile(filepath.Join(root, "usr/lib/systemd/system", target+".target"), []byte("[Unit]\nDescription=x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, nil, "systemd-analyze", "verify", "--root="+root, "dprelease@monthly.service", "dprelease@monthly.timer")
}
