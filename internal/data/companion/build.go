package companion

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// module is the module whose version two programs must share.
const module = "github.com/dprelease/dprelease"

// BuildError is the error of a program that was built from other sources than this one.
type BuildError struct{ Version, Own string }

// Error names both versions.
func (e *BuildError) Error() string {
	if e.Version == "" {
		return "it is no program of dprelease"
	}
	self, _ := os.Executable()
	return fmt.Sprintf("it is built from %s of dprelease, and %s from %s", e.Version, self, e.Own)
}

// SameBuild returns a [BuildError] unless a program is built from the same version of dprelease as this one. Go notes the version
// in a program: the tag or the commit of its sources, and whether they had changed since.
func SameBuild(program io.ReaderAt) error {
	e := &BuildError{}
	if own, ok := debug.ReadBuildInfo(); ok {
		e.Own = version(own)
	}
	if theirs, err := buildinfo.Read(program); err == nil {
		e.Version = version(theirs)
	}
	if e.Version == "" || e.Version != e.Own {
		return e
	}
	return nil
}

// version returns the version of dprelease in a program, "" where it holds none.
func version(of *debug.BuildInfo) string {
	for _, m := range append(of.Deps, &of.Main) {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			return "(devel)"
		}
		return m.Version
	}
	return ""
}
