//go:build !linux

package ledger

import "errors"

const canPlace = false

func putFile(string, []byte) error { return errors.New("files without a name are made on Linux only") }
