package job

import "github.com/dprelease/dprelease/privacy"

// Panel is the panel that a job is about: which units are in which of its waves.
type Panel struct {
	privacy.Rotation        // without what is released in each wave
	Wave             int64  // that this job is about
	Name             string // of several panels of one data set
	// Drawn says that the program draws the wave from the table; else the table is the wave.
	Drawn bool
}

// Rotates returns the panel of a job; ok is false where it has none.
func (j *Job) Rotates() (p Panel, ok bool) {
	s, name := j.rotates()
	if s == nil {
		return p, false
	}
	p = Panel{Wave: s.Wave, Name: name, Drawn: j.Dataset.Collected == nil || s != &j.Dataset.Collected.Sample}
	p.Waves, p.In = s.Waves, s.In
	for _, waves := range s.Patterns {
		p.Patterns = append(p.Patterns, privacy.Pattern{Waves: waves})
	}
	return p, true
}

// Waves returns how many waves the panel of a job has, 0 for no panel.
func (j *Job) Waves() int64 {
	p, _ := j.Rotates()
	return p.Waves
}

// rotates returns what a job says of its panel, and the panel's name.
func (j *Job) rotates() (*Sample, string) {
	if c := j.Dataset.Collected; c != nil && c.Method == Rotation {
		return &c.Sample, c.Panel
	}
	for i := range j.Samples {
		if s := &j.Samples[i]; s.Method == Rotation {
			return s, s.Name
		}
	}
	return nil, ""
}
