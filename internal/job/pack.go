package job

import "path/filepath"

// Packed is a job as another machine reads it again: its text, and every value that its text asked for.
type Packed struct {
	File, Dir string
	Text      []byte
	Env, Set  map[string]string
}

// Packed notes what the job was read from.
func (j *Job) Packed(p Packed) { j.pack = p }

// Pack is the job for another machine. Relative paths stay those of this machine's folder of the job.
func (j *Job) Pack() (Packed, error) {
	p := j.pack
	var err error
	p.Dir, err = filepath.Abs(p.Dir)
	return p, err
}
