package job

// Path is the path in the job of a key of the table that the job is seen from.
func (j *Job) Path(path string) string { return j.InTable(j.Dataset.Table, path) }

// InTable is the path in the job of a key that a table has under that path as if it were the only one.
func (j *Job) InTable(table, path string) string {
	if t, ok := j.Dataset.TableOf(table); ok {
		return t.Full(path)
	}
	return path
}
