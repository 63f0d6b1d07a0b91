package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rooted runs a command in a file system that holds nothing but what an image and its
// volumes would: only /work and /tmp can be written, there are two devices, and no rights to gain.
const rooted = `set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/tmp"
mount -t tmpfs tmpfs "$1/dev"
for d in null zero; do touch "$1/dev/$d"; mount --bind "/dev/$d" "$1/dev/$d"; done
mount --bind "$1/work" "$1/work"
mount -o remount,bind,ro "$1"
cd "$1"; shift
exec chroot $USERSPEC . /usr/bin/dprelease "$@"
`

// The file system of the image holds all that a job needs, and a retry makes nothing new.
func TestContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("the full tests link the program and run it in the file system of the image")
	}
	args, spec := []string{"-Urmpf"}, ""
	if os.Getuid() == 0 {
		args, spec = []string{"-mpf"}, "--userspec=65532:65532"
	}
	if out, err := exec.Command("unshare", append(args, "mount", "-t", "tmpfs", "tmpfs", "/tmp")...).CombinedOutput(); err != nil {
		t.Skipf("this machine does not let a file system be put together: %v %s", err, out)
	}
	root := t.TempDir()
	for _, d := range []string{"usr/bin", "proc", "dev", "tmp", "work", "data"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(root, "usr/bin")+"/",
		"../cmd/dprelease", "../cmd/dprelease-mechanisms")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	job, err := os.ReadFile("schools/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "work/job.yaml"), job, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, "data"), os.DirFS("data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "work"), 0o777); err != nil {
		t.Fatal(err)
	}
	run := func() string {
		c := exec.Command("unshare", append(args, "bash", "-c", rooted, "bash", root, "run", "--json", "/work/job.yaml")...)
		c.Env = append(os.Environ(), "USERSPEC="+spec, "TMPDIR=") // /tmp, as in the image
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return lines[len(lines)-1]
	}
	first, second := run(), run()
	if !strings.Contains(second, `"already_released":true`) {
		t.Errorf("the second run: %.200s", second)
	}
	if !strings.Contains(first, `"sandbox":"`) {
		t.Errorf("the first run does not say how its mechanisms were confined: %.200s", first)
	}
}

// systemd finds nothing wrong with the units.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not on this machine")
	}
	dir := t.TempDir()
	var files []string
	for _, kind := range []string{"service", "timer"} {
		text, err := os.ReadFile("deploy/systemd/dprelease@." + kind)
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.Replace(string(text), "/usr/bin/dprelease", "/bin/true", 1)) // it must be there
		file := filepath.Join(dir, "dprelease@."+kind)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, "dprelease@monthly."+kind))
	}
	verify := func() string {
		out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, files...)...).CombinedOutput()
		if err != nil {
			return err.Error() + " " + string(out)
		}
		return string(out)
	}
	if out := verify(); out != "" {
		t.Error(out)
	}
	broken, err := os.ReadFile(filepath.Join(dir, "dprelease@.service"))
	if err != nil {
		t.Fatal(err)
	}
	broken = []byte(strings.Replace(string(broken), "ProtectHome=yes", "ProtectHomes=yes", 1))
	if err := os.WriteFile(filepath.Join(dir, "dprelease@.service"), broken, 0o644); err != nil {
		t.Fatal(err)
	}
	if verify() == "" {
		t.Error("a wrong key passes")
	}
}

// airflow stands for the library: it keeps what the DAG makes, and runs its one task.
const airflow = `
import sys, types, datetime
class Stop(Exception): pass
def task(retries=0, retry_delay=None):
    assert retries > 0
    return lambda f: lambda: f(data_interval_start=datetime.datetime(2026, 10, 1))
def dag(**about):
    assert about["max_active_runs"] == 1 and about["catchup"] is False
    return lambda f: f
for name, parts in {"airflow": {}, "airflow.decorators": {"dag": dag, "task": task}, "airflow.exceptions": {"AirflowFailException": Stop}}.items():
    module = types.ModuleType(name)
    module.__dict__.update(parts)
    sys.modules[name] = module
try:
    exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), {})
    print("done")
except Stop as e:
    print("stop:", e)
except RuntimeError as e:
    print("retry:", e)
`

// The DAG tries again only where the program says that it helps.
func TestAirflow(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not on this machine")
	}
	dir := t.TempDir()
	for program, want := range map[string]string{
		`[ "$4" = month=2026-10 ]`: "done",
		`echo '{"event":"failed","code":"LEDGER_LOCKED","retry":"yes"}'; exit 75`:    "retry: dprelease: LEDGER_LOCKED",
		`echo '{"event":"failed","code":"LEDGER_ROLLED_BACK","retry":"no"}'; exit 7`: "stop: dprelease: LEDGER_ROLLED_BACK",
		`exit 137`: "stop: dprelease: 137",
	} {
		if err := os.WriteFile(filepath.Join(dir, "dprelease"), []byte("#!/bin/sh\n"+program+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("python3", "-c", airflow, "deploy/airflow/monthly.py")
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		if out, err := c.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %v %s, want %s", program, err, out, want)
		}
	}
}
