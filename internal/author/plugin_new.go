package author

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease"
	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/plugins/python"
)

// maxModule bounds go.mod and go.sum, in bytes.
const maxModule = 4 << 20

// skeleton holds a template for each file of a new plugin.
//
//go:embed all:skeleton
var skeleton embed.FS

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (e *environment) pluginNew() *cobra.Command {
	var replace, dir, language string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new mechanism, in Go or Python",
		Long: `new writes a folder with a complete mechanism, the total of a column, to be changed
into yours: a Go module with a test that runs the conformance suite and the source of the
SDK, or a mechanism in Python. It never overwrites anything.`,
		Example: `  dprelease plugin new trimmed-mean
  cd trimmed-mean && go test && go build ` + lean + ` && dprelease plugin check ./trimmed-mean
  dprelease plugin new trimmed-mean --lang python
  cd trimmed-mean && python3 -m dprelease.pack && dprelease plugin check ./trimmed-mean`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !pluginName.MatchString(args[0]) {
				return errors.New("give one name: lower-case letters, digits and dashes, a letter first")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if dir == "" {
				dir = args[0]
			}
			next := "go test && go build " + lean
			write := func() error { return writeSkeleton(dir, args[0], replace) }
			switch {
			case language == "python" && replace == "":
				next = "python3 -m dprelease.pack"
				write = func() error { return writePython(dir, args[0]) }
			case language != "go":
				write = func() error { return errors.New("--lang is go or python, and --replace is for go") }
			}
			if err := write(); err != nil {
				e.Tell(e.Errw, "dprelease: %v\n", err)
				return command.Exited(command.ExitUsage)
			}
			return e.Say(map[string]string{"event": "done", "dir": dir}, "wrote %s; next: cd %s && %s && dprelease plugin check ./%s\n", dir,
				dir, next, args[0])
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the folder to write; by default NAME")
	c.Flags().StringVar(&language, "lang", "go", "the language: go or python")
	c.Flags().StringVar(&replace, "replace", "", "use the dprelease in this folder instead of a copy of the SDK")
	c.Flags().BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}

// lean are flags of go build that leave out what a plugin has no use for: the tables of a
// debugger, and gRPC's pages for a browser.
const lean = "-trimpath -ldflags=-s -tags=grpcnotrace"

// sdkNeeds are the modules that the SDK is built from.
var sdkNeeds = []string{"github.com/google/jsonschema-go", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text",
	"gonum.org/v1/gonum", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf"}

// writeSkeleton writes the module. With replace it takes over the requirements of the
// module there, so that it builds with what has been downloaded already; otherwise it copies
// the SDK into a folder of the module.
func writeSkeleton(dir, name, replace string) error {
	with := struct{ Name, Go, Replace, Requires string }{Name: name, Go: "1.26.0"}
	mod, err := dprelease.SDK.ReadFile("go.mod")
	if err != nil {
		return err
	}
	sums, err := dprelease.SDK.ReadFile("go.sum")
	if err != nil {
		return err
	}
	if replace != "" {
		mod, err = file.Read(filepath.Join(replace, "go.mod"), maxModule)
		if err != nil || !bytes.Contains(mod, []byte("module github.com/dprelease/dprelease\n")) {
			return errors.New("--replace must name a folder with the source of dprelease")
		}
		if sums, err = file.Read(filepath.Join(replace, "go.sum"), maxModule); err != nil {
			return errors.New("--replace must name a folder with a go.sum")
		}
		with.Requires = requirements(string(mod))
		if with.Replace, err = relative(dir, replace); err != nil {
			return err
		}
	} else {
		with.Replace, with.Requires = "./dprelease", "require (\n"+of(string(mod), sdkNeeds, "\t")+")"
		sums = []byte(of(string(sums), sdkNeeds, ""))
	}
	if err := fill(dir, "skeleton/*.tmpl", with); err != nil {
		return err
	}
	if replace == "" {
		if err := copySDK(filepath.Join(dir, "dprelease"), with.Go, with.Requires); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)
}

// copySDK writes the source of the SDK as a module of its own, without its tests.
func copySDK(dir, goVersion, requires string) error {
	return fs.WalkDir(dprelease.SDK, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || path == "go.sum" {
			return err
		}
		text, err := dprelease.SDK.ReadFile(path)
		if err != nil {
			return err
		}
		if path == "go.mod" {
			text = fmt.Appendf(nil, "module github.com/dprelease/dprelease\n\ngo %s\n\n%s\n", goVersion, requires)
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}

// of are the lines of a go.mod or go.sum about these modules, without comments.
func of(text string, modules []string, indent string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " //")
		if name, _, ok := strings.Cut(line, " "); ok && slices.Contains(modules, name) {
			out.WriteString(indent + line + "\n")
		}
	}
	return out.String()
}

// requirements are the require blocks of a go.mod.
func requirements(mod string) string {
	var out []string
	inside := false
	for line := range strings.Lines(mod) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "require ") {
			inside = strings.HasSuffix(line, "(")
			out = append(out, line)
			continue
		}
		if inside {
			out = append(out, line)
			inside = line != ")"
		}
	}
	return strings.Join(out, "\n")
}

// relative is the path of the source as go.mod of dir names it.
func relative(dir, source string) (string, error) {
	if filepath.IsAbs(source) {
		return source, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(abs, to)
	if err == nil && !strings.HasPrefix(rel, ".") {
		rel = "./" + rel
	}
	return rel, err
}

// writePython writes a mechanism in Python with the SDK beside it.
func writePython(dir, name string) error {
	if err := fill(dir, "skeleton/python/*.tmpl", struct{ Name string }{name}); err != nil {
		return err
	}
	return os.CopyFS(dir, python.SDK)
}

// fill makes a folder that is not there yet, and writes the files of a plugin from their templates.
func fill(dir, templates string, with any) error {
	t, err := template.ParseFS(skeleton, templates)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; nothing was written", dir)
	} else if err != nil {
		return err
	}
	for _, one := range t.Templates() {
		f, err := os.Create(filepath.Join(dir, strings.TrimSuffix(one.Name(), ".tmpl")))
		if err != nil {
			return err
		}
		if err := errors.Join(one.Execute(f, with), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
