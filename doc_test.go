package dprelease

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"
)

// A package of the module that a package of the SDK imports is there too, or what plugin new writes does not build.
func TestSDKIsWhole(t *testing.T) {
	const module = "github.com/dprelease/dprelease/"
	imports := 0
	err := fs.WalkDir(SDK, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := SDK.ReadFile(file)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if folder, ours := strings.CutPrefix(name, module); err == nil && ours {
				imports++
				if found, err := fs.Glob(SDK, folder+"/*.go"); err != nil || len(found) == 0 {
					t.Errorf("%s imports %s, which is not there: %v", file, folder, err)
				}
			}
		}
		return nil
	})
	if err != nil || imports < 20 {
		t.Errorf("%d imports: %v", imports, err)
	}
}
