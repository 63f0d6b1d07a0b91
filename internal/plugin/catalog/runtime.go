package catalog

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
)

// Runtime names what runs a script beside its interpreter: the Python distributions whose
// files were read, as "numpy 1.24.2", and for each the file that says which version it is,
// with its digest. Another version is in another file, or in one with another digest.
func Runtime(read []string) (names []string, files map[string]string, err error) {
	files = map[string]string{}
	for folder, modules := range modulesOf(read) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range entries {
			m := distribution.FindStringSubmatch(d.Name())
			at := filepath.Join(folder, d.Name())
			if m == nil || !slices.ContainsFunc(topLevel(at, m[1]), func(name string) bool { return modules[name] }) {
				continue
			}
			for _, name := range []string{"RECORD", "METADATA", "PKG-INFO"} { // the first holds digests of all files
				path := filepath.Join(at, name)
				if sum, err := file.Digest(path, file.MaxProgram); err == nil {
					names, files[path] = append(names, m[1]+" "+m[2]), sum
					break
				}
			}
		}
	}
	slices.Sort(names)
	return names, files, nil
}

// distribution is the name of the folder that says what a Python distribution is.
var distribution = regexp.MustCompile(`^([A-Za-z0-9._]+)-([^-]+)(?:-.*)?\.(?:dist|egg)-info$`)

// modulesOf are the top modules of the Python libraries whose files were read, by the folder
// in which they lie.
func modulesOf(read []string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, path := range read {
		for _, name := range []string{"/dist-packages/", "/site-packages/"} {
			at := strings.LastIndex(path, name)
			if at < 0 {
				continue
			}
			folder := path[:at+len(name)-1]
			first, _, _ := strings.Cut(path[at+len(name):], "/")
			module, _, _ := strings.Cut(first, ".")
			if out[folder] == nil {
				out[folder] = map[string]bool{}
			}
			out[folder][module] = true
		}
	}
	return out
}

// topLevel are the modules of a distribution: those that it lists, or the first parts of its
// files.
func topLevel(info, name string) []string {
	if text, err := file.Read(filepath.Join(info, "top_level.txt"), maxSize); err == nil {
		return strings.Fields(string(text))
	}
	out := []string{strings.ReplaceAll(strings.ToLower(name), "-", "_")}
	text, _ := file.Read(filepath.Join(info, "RECORD"), maxSize) // without it the name is all there is
	for line := range strings.Lines(string(text)) {
		first, _, _ := strings.Cut(line, "/")
		out = append(out, first)
	}
	return out
}
