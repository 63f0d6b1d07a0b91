//go:build unix

package catalog

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// filled is a catalog with one script in it, in a folder that nobody else can change.
func filled(t *testing.T) (*Catalog, Entry) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "script")
	if err := os.WriteFile(source, []byte("#!/usr/bin/env sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Open(filepath.Join(dir, "catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Store(source)
	if err != nil {
		t.Fatal(err)
	}
	e.Name, e.Version, e.Expires = "trimmed", "1.2.0", time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	c.Put(e)
	if err := c.Write(nil); err != nil {
		t.Fatal(err)
	}
	return c, e
}

// resolve looks a plugin up as a job would, and returns what is wrong as text.
func resolve(c *Catalog, name string, now time.Time) (Entry, string) {
	c, err := Read(c.path)
	if err != nil {
		return Entry{}, err.Error()
	}
	e, hint, err := c.Approved(name, now)
	if err != nil {
		return e, err.Error() + " (" + hint + ")"
	}
	return e, ""
}

func TestApproved(t *testing.T) {
	c, e := filled(t)
	if got, wrong := resolve(c, "trimmed@1.2.0", time.Now()); wrong != "" || got.SHA256 != e.SHA256 || got.Path != e.Path {
		t.Errorf("%+v %s", got, wrong)
	}
	for mechanism, want := range map[string]string{"trimmed@1.2.1": "did you mean trimmed@1.2.0", "mean@3": "not in the catalog"} {
		if _, wrong := resolve(c, mechanism, time.Now()); !strings.Contains(wrong, want) {
			t.Errorf("%s: %q", mechanism, wrong)
		}
	}
	if _, wrong := resolve(c, "trimmed@1.2.0", e.Expires); !strings.Contains(wrong, "ended on") {
		t.Errorf("after its day: %q", wrong)
	}
}

// TestTampered: a catalog or a plugin that somebody else could change, or has changed, is
// not used.
func TestTampered(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*Catalog, Entry) error
		want string
	}{
		"untouched":         {func(*Catalog, Entry) error { return nil }, ""},
		"writable catalog":  {func(c *Catalog, _ Entry) error { return os.Chmod(c.path, 0o666) }, "others may change"},
		"writable folder":   {func(c *Catalog, _ Entry) error { return os.Chmod(c.Folder(), 0o777) }, "others may change"},
		"sticky folder":     {func(c *Catalog, _ Entry) error { return os.Chmod(c.Folder(), 0o777|os.ModeSticky) }, ""},
		"writable plugins":  {func(c *Catalog, _ Entry) error { return os.Chmod(filepath.Join(c.Folder(), "plugins"), 0o777) }, "others may change"},
		"writable file":     {func(c *Catalog, e Entry) error { return os.Chmod(filepath.Join(c.Folder(), e.Path), 0o777) }, "others may change"},
		"changed plugin":    {func(c *Catalog, e Entry) error { return grow(filepath.Join(c.Folder(), e.Path)) }, "has changed"},
		"lost plugin":       {func(c *Catalog, e Entry) error { return os.Remove(filepath.Join(c.Folder(), e.Path)) }, "cannot be read"},
		"other interpreter": {func(c *Catalog, e Entry) error { return otherInterpreter(c, e) }, "has changed"},
		"unknown field":     {func(c *Catalog, _ Entry) error { return os.WriteFile(c.path, []byte(`{"version":1,"x":2}`), 0o644) }, "not a catalog"},
		"later version":     {func(c *Catalog, _ Entry) error { return os.WriteFile(c.path, []byte(`{"version":2}`), 0o644) }, "not a catalog"},
		"bad key":           {func(c *Catalog, _ Entry) error { return os.WriteFile(c.path+".pub", []byte("x"), 0o644) }, "not a public key"},
	} {
		t.Run(name, func(t *testing.T) {
			cat, e := filled(t)
			if err := c.do(cat, e); err != nil {
				t.Fatal(err)
			}
			_, wrong := resolve(cat, "trimmed@1.2.0", time.Now())
			if c.want == "" && wrong != "" || !strings.Contains(wrong, c.want) {
				t.Errorf("%q, want %q in it", wrong, c.want)
			}
		})
	}
}

func grow(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("# more\n")
	return errors.Join(err, f.Close())
}

// otherInterpreter says that the interpreter had another digest when the plugin was
// approved.
func otherInterpreter(c *Catalog, e Entry) error {
	for name := range e.Files {
		e.Files[name] = strings.Repeat("0", 64)
	}
	c.Put(e)
	return c.Write(nil)
}

// TestSignature: where there is a key, a catalog counts as it was signed and not otherwise; neither an
// old copy nor one without its key takes its place.
func TestSignature(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c, e := filled(t)
	key := func(public minisign.PublicKey) {
		t.Helper()
		if err := os.WriteFile(c.path+".pub", []byte(public.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(what, want string) {
		t.Helper()
		if _, wrong := resolve(c, e.Key(), time.Now()); want == "" && wrong != "" || !strings.Contains(wrong, want) {
			t.Errorf("%s: %q, want %q in it", what, wrong, want)
		}
	}
	key(public)
	wants("unsigned", "is not signed")
	if _, err := Open(c.path); err == nil {
		t.Error("an unsigned one can be changed, and would then be signed with all that is in it")
	}
	signed, err := Adopt(c.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := signed.Write(nil); err == nil {
		t.Error("it is written without a signature")
	}
	if err := signed.Write(&private); err != nil {
		t.Fatal(err)
	}
	wants("signed", "")
	if _, err := Adopt(c.path); err == nil {
		t.Error("a signed one is adopted")
	}

	// Every field is signed: a change of any of them breaks the signature.
	text, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(c.path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range [][2]string{
		{`"serial": `, `"serial": 1`}, {e.SHA256, strings.Repeat("0", 64)}, {`"names": null`, `"names": ["x"]`}, {`"name": "trimmed"`, `"name": "trimmed2"`},
		{`"approved_by": ""`, `"approved_by": "x"`},
	} {
		other := strings.Replace(string(text), change[0], change[1], 1)
		if other == string(text) {
			t.Fatalf("%q is not there", change[0])
		}
		put([]byte(other))
		wants(change[1], "signature")
	}
	put(text)
	wants("signed again", "")

	// A plugin that was taken out does not come back with an old copy.
	without, err := Open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	without.Remove(e.Key())
	if err := without.Write(&private); err != nil {
		t.Fatal(err)
	}
	wants("removed", "not in the catalog")
	put(text)
	wants("an old copy", "old copy")
	if _, err := Open(c.path); err == nil || !strings.Contains(err.Error(), "old copy") {
		t.Errorf("an old copy can be changed: %v", err)
	}
	without.Put(e)
	if err := without.Write(&private); err != nil {
		t.Fatal(err)
	}
	wants("added again", "")

	// Without the key nothing is signed, and that is no way out.
	if err := os.Remove(c.path + ".pub"); err != nil {
		t.Fatal(err)
	}
	wants("no key", ".pub is missing")
	plain := *without
	plain.Signature = ""
	stripped, err := plain.Signed()
	if err != nil {
		t.Fatal(err)
	}
	current, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	put(stripped)
	wants("no key and no signature", "was signed until now")
	if err := os.Remove(c.path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(c.path); err == nil {
		t.Error("a new one takes the place of a signed one")
	}
	put(current)
	other, stranger, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key(other)
	wants("another key", "signature")
	strange := *without
	strange.key = &other
	text, err = strange.Signed()
	if err != nil {
		t.Fatal(err)
	}
	strange.Signature = string(minisign.Sign(stranger, text))
	if text, err = json.Marshal(strange); err != nil {
		t.Fatal(err)
	}
	put(text)
	wants("signed by another", "not the one that signed it until now")
	put(current)
	key(public)
	wants("as it was", "")

	// Who cannot remember cannot tell an old copy.
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	wants("no folder", "XDG_STATE_HOME")
}

// TestFieldsTwice: a catalog is what one reader takes it for, and no other takes it for something else.
func TestFieldsTwice(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"version":1,"plugins":[{"name":"a","files":{"F":"0","f":"1"}}]}`: true,
		`{"version":1,"version":1,"plugins":[]}`:                           false,
		`{"version":1,"Version":1,"plugins":[]}`:                           false,
		`{"Version":1,"plugins":[]}`:                                       false,
		`{"version":1,"plugins":[{"sha256":"0","sha256":"1"}]}`:            false,
		`{"version":1,"plugins":[{"check":{"seed":1,"\u0073eed":2}}]}`:     false,
		`{"version":1,"plugins":[{"files":{"f":"0","f":"1"}}]}`:            false,
		`{"version":1,"plugins":[]} {"version":1}`:                         false,
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestStoreFolder(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	write := func(name string, mode os.FileMode) {
		path := filepath.Join(source, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Open(filepath.Join(dir, "catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	write("lib/model", 0o644)
	if _, err := c.Store(source); err == nil {
		t.Error("a folder without an executable file")
	}
	write("run", 0o755)
	e, err := c.Store(source)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(e.Path)
	if filepath.Base(e.Path) != "run" || len(e.Files) != 1 || e.Files[filepath.Join(base, "lib", "model")] == "" || e.Beside()["lib/model"] == "" || len(e.Reads) > 0 {
		t.Errorf("%+v", e)
	}
	write("other", 0o755)
	if _, err := c.Store(source); err == nil {
		t.Error("a folder with two executable files")
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(source, "lib", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(source, "other")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Store(source); err == nil {
		t.Error("a folder with a link in it")
	}
}

// What a process left that was killed while it added a plugin goes with the next one that is added; what another process adds now,
// and what a catalog names, stays.
func TestKilledWhileAdding(t *testing.T) {
	dir := t.TempDir()
	store := func(catalog, name string) (*Catalog, string, error) {
		t.Helper()
		source := filepath.Join(dir, name)
		if err := os.WriteFile(source, []byte("#!/usr/bin/env sh\nexit 0 #"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		c, err := Open(filepath.Join(dir, catalog))
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Store(source)
		if err == nil {
			e.Name, e.Version = name, "1"
			c.Put(e)
		}
		return c, filepath.Join(dir, filepath.Dir(e.Path)), err
	}
	there := func(want bool, folder, when string) {
		t.Helper()
		if _, err := os.Stat(folder); (err == nil) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	killed, left, err := store("one.json", "killed")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store("one.json", "killed"); !errors.Is(err, errAdding) {
		t.Errorf("the same again, at the same time: %v", err)
	}
	late, named, err := store("two.json", "late")
	if err = errors.Join(err, late.Write(nil)); err != nil {
		t.Fatal(err)
	}
	there(true, left, "while it is added")
	killed.added.Close() // the kernel frees the locks of a process that ends
	late.added.Close()
	refused, other, err := store("two.json", "other")
	if err != nil {
		t.Fatal(err)
	}
	there(false, left, "after it was killed")
	there(true, named, "in another catalog of the folder")
	refused.Done(false)
	there(false, other, "after it was refused")
	// A folder that was there before belongs to somebody.
	again, _, err := store("one.json", "late")
	if err != nil {
		t.Fatal(err)
	}
	again.Done(false)
	there(true, named, "after it was refused for another catalog")
	if notes, _ := filepath.Glob(filepath.Join(dir, "plugins", "*"+noteEnd)); len(notes) > 0 {
		t.Errorf("%v", notes)
	}
}

// planned is a request over two columns and a plan with words in it.
func planned(note, name string) (sdk.PlanRequest, sdk.Plan) {
	req := sdk.PlanRequest{Params: json.RawMessage(`{"column":"income","trim":0.05}`), Target: privacy.Point{Epsilon: 1}}
	req.Public.Columns = []sdk.Column{{Name: "income", Lower: 0, Upper: 250}, {Name: "age group", Domain: []string{"young", "old"}}}
	return req, sdk.Plan{Output: []sdk.Field{{Name: name, Doc: "the mean of income"}}, Errors: []sdk.ExpectedError{{Field: name, Note: note}}}
}

// A name stands for the entry with it where there is one version alone.
func TestOnly(t *testing.T) {
	c := Catalog{Plugins: []Entry{{Name: "a", Version: "1.0.0"}, {Name: "ab", Version: "1.0.0"}, {Name: "b", Version: "1.0.0"}, {Name: "b", Version: "2.0.0"}}}
	for name, want := range map[string]string{"a": "a@1.0.0", "ab": "ab@1.0.0", "b": "", "c": ""} {
		if x, ok := c.Only(name); ok != (want != "") || ok && x.Key() != want {
			t.Errorf("%s: %s, %v", name, x.Key(), ok)
		}
	}
}

// TestTexts: words of a request may change with it; nothing else may.
func TestTexts(t *testing.T) {
	kept := NewTexts(nil, nil)
	kept.Add(planned("between 0 and 250 at trim 0.05", "mean of income"))
	other, said := planned("between 0 and 99 at trim 0.01", "mean of age")
	other.Params, other.Public.Columns = json.RawMessage(`{"column":"age","trim":0.01}`), []sdk.Column{{Name: "age", Lower: 0, Upper: 99}}
	said.Output[0].Doc = "the mean of age"
	kept.Add(other, said)
	if got := strings.Join(kept.Remarks(), "|"); got != "between {number} and {number} at trim {number}|the mean of {column}" {
		t.Fatal(got)
	}
	again := NewTexts(kept.Names(), kept.Remarks())
	for note, stays := range map[string]bool{
		"between 0 and 250 at trim 0.05": true, "between 0.05 and 1 at trim 250": true,
		"between 0 and 251 at trim 0.05": false, "the table has 17 rows": false, "between 0 and 250 at trim 0.05!": false,
	} {
		req, plan := planned(note, "mean of income")
		unheld := plan.Errors
		if unknown := again.Hold(req, &plan); unknown != "" {
			t.Errorf("the name %q is not known", unknown)
		}
		if (plan.Errors[0].Note == note) != stays || plan.Output[0].Doc == "" || unheld[0].Note != note {
			t.Errorf("%q became %q", note, plan.Errors[0].Note)
		}
	}
	req, plan := planned("", "row 4711")
	if unknown := again.Hold(req, &plan); unknown != "row 4711" {
		t.Errorf("%q", unknown)
	}
	// A job whose categories are ordinary words: what the plugin says of every job stays.
	req, plan = planned("between 0 and 250 at trim 0.05", "mean of income")
	fixed := NewTexts([]string{plan.Output[0].Name}, []string{"the total of all"})
	req.Public.Columns[0].Domain = []string{"the", "of", "all"}
	plan.Output, plan.Errors = []sdk.Field{{Name: plan.Output[0].Name, Doc: "the total of all"}}, nil
	if unknown := fixed.Hold(req, &plan); unknown != "" || plan.Output[0].Doc != "the total of all" {
		t.Errorf("%q, %+v", unknown, plan.Output)
	}
	req, plan = planned("", "mean of income")
	plan.Output[0].Texts = []string{"4711"}
	if unknown := again.Hold(req, &plan); unknown != "4711" {
		t.Errorf("a text of a column: %q", unknown)
	}
}

// A text that is the same in all requests is kept as it is, though a request of the suite may have the same words: another job's columns
// have other names.
func TestTextsOfTheAuthor(t *testing.T) {
	kept := NewTexts(nil, nil)
	const doc, name = "where income = 0", "income"
	for _, column := range []string{"income", "age"} {
		req, plan := planned("", name)
		req.Public.Columns[0].Name, plan.Output[0].Doc = column, doc
		kept.Add(req, plan)
	}
	again := NewTexts(kept.Names(), kept.Remarks())
	req, plan := planned("", name)
	req.Public.Columns = []sdk.Column{{Name: "weight", Lower: 1, Upper: 2}}
	plan.Output[0].Doc = doc
	if unknown := again.Hold(req, &plan); unknown != "" || plan.Output[0].Doc != doc {
		t.Errorf("%q, %+v", unknown, plan.Output)
	}
}

func TestInterpreter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for text, want := range map[string]string{"#!/bin/sh\n": "sh", "#!/usr/bin/env sh\n": "sh", "\x7fELF": "", "": ""} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		real := want
		if want != "" {
			found, err := filepath.EvalSymlinks("/bin/" + want)
			if err != nil {
				t.Fatal(err)
			}
			real = filepath.Base(found)
		}
		if got := Interpreter(path); want == "" && got != "" || want != "" && filepath.Base(got) != real {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestRuntime: the versions of the Python libraries that a plugin read files of, and no
// others, belong to its entry; when one becomes another the entry is not used.
func TestRuntime(t *testing.T) {
	c, e := filled(t)
	lib := filepath.Join(t.TempDir(), "lib", "site-packages")
	write := func(name, text string) string {
		path := filepath.Join(lib, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("grpcio-1.51.1.egg-info/top_level.txt", "grpc\n")
	write("grpcio-1.51.1.egg-info/PKG-INFO", "Version: 1.51.1")
	write("scipy-1.10.1.dist-info/METADATA", "Version: 1.10.1")
	record := write("scipy-1.10.1.dist-info/RECORD", "scipy/__init__.py,sha256=x,1\n")
	write("other-2.0.dist-info/RECORD", "other/__init__.py,sha256=x,1\n")
	read := []string{"/usr/lib/python3.11/os.py", write("grpc/__init__.py", ""), write("scipy/linalg.so", "")}
	names, files, err := Runtime(read)
	if err != nil || !slices.Equal(names, []string{"grpcio 1.51.1", "scipy 1.10.1"}) || len(files) != 2 || files[record] == "" {
		t.Fatalf("%q, %v, %v", names, files, err)
	}
	e.Runtime = names
	for path, sum := range files {
		e.Files[path] = sum
	}
	used := func() string {
		t.Helper()
		c.Put(e)
		if err := c.Write(nil); err != nil {
			t.Fatal(err)
		}
		_, wrong := resolve(c, e.Key(), time.Now())
		return wrong
	}
	if wrong := used(); wrong != "" {
		t.Error(wrong)
	}
	if err := grow(record); err != nil {
		t.Fatal(err)
	}
	if wrong := used(); !strings.Contains(wrong, "scipy-1.10.1") || !strings.Contains(wrong, "has changed") {
		t.Errorf("another build: %q", wrong)
	}
	if err := os.Rename(filepath.Dir(record), filepath.Join(lib, "scipy-1.11.0.dist-info")); err != nil {
		t.Fatal(err)
	}
	if wrong := used(); !strings.Contains(wrong, "scipy-1.10.1") || !strings.Contains(wrong, "gone") {
		t.Errorf("another version: %q", wrong)
	}
}

// FuzzCatalog: no file makes the reader panic, and what it reads it writes again.
func FuzzCatalog(f *testing.F) {
	f.Add([]byte(`{"version":1,"plugins":[{"name":"a","version":"1","path":"p","sha256":"00","names":[],"texts":[]}]}`))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Read(path)
		if err != nil {
			return
		}
		if err := c.Write(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}
