package language

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
)

// probed is a key that only tests declare.
const probed = "probe"

// A key that is added to the declaration is in the digest, at the root and within a part, and
// without it two questions would have one digest. A key that says out and why is not.
func TestDigestComesFromTheDeclaration(t *testing.T) {
	one, other := &job.Job{Name: "one"}, &job.Job{Name: "one", Lineage: "another", Output: job.Output{Dir: "another"}}
	if (spoken{}).Digest(one) != (spoken{}).Digest(other) {
		t.Fatal("the two jobs differ in more than the key of the test")
	}
	at := func(j *job.Job) *string { return &j.Lineage }
	within := object(key(probed, text(), func(o *job.Output) *string { return &o.Dir }, "a key of a test"))
	for name, c := range map[string]struct {
		added field[job.Job]
		in    bool
	}{
		"root":     {key(probed, text(), at, "a key of a test"), true},
		"part":     {key(probed, within, func(j *job.Job) *job.Output { return &j.Output }, "a part of a test"), true},
		"out":      {key(probed, text(), at, "a key of a test", out("for a reason")), false},
		"out part": {key(probed, within, func(j *job.Job) *job.Output { return &j.Output }, "a part of a test", out("for a reason")), false},
	} {
		k := object(append(keysOfJob(), c.added)...)
		if differ := digestOf(k, one) != digestOf(k, other); differ != c.in {
			t.Errorf("%s: the digests differ: %v", name, differ)
		}
	}
}

// Every key of a file is out: its path says where something stands, and its content counts.
// Every address of a secret is out as well, and every reason is one.
func TestKeysOutOfTheDigest(t *testing.T) {
	outs := 0
	var walk func(path string, all []Declared, above bool)
	walk = func(path string, all []Declared, above bool) {
		for _, d := range all {
			at := job.Key(path, d.Name)
			if d.out != "" {
				if outs++; strings.TrimSpace(d.out) == "" || strings.HasSuffix(d.out, ".") {
					t.Errorf("%s is out because %q", at, d.out)
				}
			}
			if is := above || d.out != ""; !is && (d.Label == "path" || strings.Contains(d.Label, "address")) {
				t.Errorf("%s is a %s, and in the digest", at, d.Label)
			}
			walk(at, d.Nested, above || d.out != "")
		}
	}
	walk("", language().nested, false)
	if outs < 20 {
		t.Errorf("%d keys are out", outs)
	}
}
