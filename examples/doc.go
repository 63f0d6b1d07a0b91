// Package examples holds runnable jobs with real data. Each folder has a
// job.yaml; the tests run all of them through the real program.
package examples
