package failure

import (
	"os"

	"github.com/dprelease/dprelease/internal/job"
)

// Reason is an error of the file system without the path.
func Reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// InJob makes a single problem of a job.
func InJob(j *job.Job, path, message, hint string) error {
	return job.Problems{j.Problem(path, message, hint)}
}
