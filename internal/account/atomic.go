package account

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
)

// writeAtomically writes beside the target and renames, so that a reader sees
// the old file or the new one and never a part.
func writeAtomically(path string, data []byte) (err error) {
	var tag [8]byte
	rand.Read(tag[:]) //nolint:errcheck // never fails; the name only has to be free
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+hex.EncodeToString(tag[:]))
	// 0o666 before the umask: a plot is not a secret, unlike what CreateTemp makes.
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp) //nolint:errcheck // the first error is the one to tell
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(temp, path)
}
