package sandbox

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
)

// libraries lists the files that a dynamically linked program reads beside itself. /etc/alternatives holds the links
// by which Debian chooses a library of several, such as the BLAS that numpy needs.
var libraries = []string{
	"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/local/lib64",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/nsswitch.conf",
	"/etc/ssl/openssl.cnf",
}

// programs lists the files that a script of an unknown interpreter may read: the libraries and all other programs.
var programs = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
	"/etc/mime.types", "/etc/nsswitch.conf", "/etc/ssl/openssl.cnf",
}

// System reports whether a path lies in what some trees may read of the system.
func System(path string) bool {
	return slices.ContainsFunc(programs, func(s string) bool { return file.Within(path, s) })
}

// needs returns what an executable reads of the system. A static program reads nothing, a dynamic
// one its libraries, and Python its interpreter and its libraries. Any other script may
// read all programs: nobody can tell which of them it starts.
func needs(executable io.ReaderAt) []string {
	head := make([]byte, 256)
	n, _ := executable.ReadAt(head, 0)
	head = head[:n]
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		words := interpreters(head)
		if len(words) == 0 || !python(words[len(words)-1]) {
			return programs
		}
		out := slices.Clone(libraries)
		for _, w := range words {
			out = append(out, steps(w)...)
		}
		return append(out, "/usr/share/zoneinfo", "/etc/mime.types")
	}
	f, err := elf.NewFile(executable)
	if err != nil {
		return libraries
	}
	i := slices.IndexFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if i < 0 {
		return nil
	}
	loader, err := io.ReadAll(io.LimitReader(f.Progs[i].Open(), 4096))
	if err == nil && file.Within(string(bytes.TrimRight(loader, "\x00")), "/nix/store") {
		return append([]string{"/nix/store"}, libraries...)
	}
	return libraries
}

// python reports whether a program is an interpreter of Python.
func python(program string) bool {
	name := filepath.Base(program)
	if to, err := filepath.EvalSymlinks(program); err == nil {
		name = filepath.Base(to)
	}
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy")
}

// Interpreter returns the program that runs a script, from the script's first bytes, and "" for what
// is no script. The name that /usr/bin/env is given is looked for where a tree would find it.
func Interpreter(head []byte) string {
	if words := interpreters(head); len(words) > 0 {
		return words[len(words)-1]
	}
	return ""
}

// interpreters are the programs that run a script: its interpreter, or env and the interpreter.
func interpreters(head []byte) []string {
	line, _, _ := strings.Cut(string(head), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return nil
	}
	out := words[:1]
	if filepath.Base(words[0]) != "env" {
		return out
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") { // an option of env
			continue
		}
		for _, dir := range filepath.SplitList(searchPath) {
			if at := filepath.Join(dir, word); regular(at) {
				return append(out, at)
			}
		}
		break
	}
	return out
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// steps are all that lies on the way to a file: the links, and the file itself.
func steps(path string) []string {
	var out []string
	for range 16 { // links of links
		at, rest := "/", strings.TrimPrefix(filepath.Clean(path), "/")
		for rest != "" {
			var name string
			name, rest, _ = strings.Cut(rest, "/")
			at = filepath.Join(at, name)
			to, err := os.Readlink(at)
			if err != nil {
				continue
			}
			out = append(out, at)
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			path = filepath.Join(to, rest)
			at = ""
			break
		}
		if at != "" {
			return append(out, path)
		}
	}
	return out
}
