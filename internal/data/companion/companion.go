package companion

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Beside returns where a companion of the program self must lie, whether it is there or not.
func Beside(self, name string) string {
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	path := filepath.Join(filepath.Dir(self), name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	return path
}

// Trusted returns the path of a companion that is handed rows. It lies in the folder of the program self, and is looked
// for nowhere else: what stands first on somebody's PATH must not be given a table. "" stands for none.
func Trusted(self, name string) string {
	if self == "" {
		return ""
	}
	path := Beside(self, name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// Public returns the path of a companion that reads published files alone: beside self, or on the PATH. "" stands for none.
func Public(self, name string) string {
	if path := Trusted(self, name); path != "" {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
