//go:build unix

package unlinked

import "os"

// makeFile makes a file and takes its name away.
func makeFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".dprelease-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
