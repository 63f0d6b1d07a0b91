package output

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/dprelease/dprelease/internal/data/store"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// causes are the reasons for which a folder of releases could not be written, in fixed words: what the system
// says may name more (P20).
var causes = []struct {
	is   error
	says string
}{
	{syscall.ENOSPC, "the disk is full"},
	{syscall.EDQUOT, "the disk quota is used up"},
	{syscall.EFBIG, "a file is larger than the limit for files"},
	{syscall.EROFS, "the disk is read-only"},
	{syscall.EIO, "the disk failed"},
	{syscall.EMFILE, "too many files are open"},
	{syscall.ENAMETOOLONG, "the path is too long"},
	{fs.ErrPermission, "permission denied"},
	{fs.ErrExist, "something else stands in its place"},
	{fs.ErrNotExist, "the folder above it is gone"},
	{store.ErrMissing, "the bucket is gone"},
}

// Unpublished is the failure of a publication whose files are stored. It names the cause.
func Unpublished(err error) error {
	why := "the system refused"
	for _, c := range causes {
		if errors.Is(err, c.is) {
			why = c.says
			break
		}
	}
	return failure.Resting(failure.New(failure.ExitNotPublished, "NOT_PUBLISHED",
		"the releases could not be written: %s; they are stored: mend that and run the job again", why))
}
