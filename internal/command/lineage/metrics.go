package lineage

import (
	"fmt"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/report"
)

// metrics is a text in the format of Prometheus, for the textfile collector of its node exporter.
type metrics struct {
	strings.Builder
	labels string // of the job
}

func metricsOf(job, dataset string) *metrics {
	return &metrics{labels: fmt.Sprintf(`job_name=%s,dataset=%s`, quoted(job), quoted(dataset))}
}

func (m *metrics) gauge(name, help, more, value string) {
	if !strings.Contains(m.String(), "# HELP "+name+" ") {
		fmt.Fprintf(m, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	}
	fmt.Fprintf(m, "%s{%s%s} %s\n", name, m.labels, more, value)
}

// write ends the text with what every run has. The file appears whole or not at all.
func (m *metrics) write(path, code, failed string, debited time.Time) error {
	m.gauge("dprelease_failed", "Whether the run made no releases.", code, failed)
	if !debited.IsZero() {
		m.gauge("dprelease_debit_timestamp_seconds", "When the budget was spent.", "", fmt.Sprint(debited.Unix()))
	}
	return whole.WriteFile(path, []byte(m.String()), 0o644)
}

// WriteFailed writes the metrics of a run that made no releases. A monitor hears the fixed word of the failure, unless
// code is "": once the budget may be spent the word can depend on the table (P19, P20). A job that could not be read is nil.
func WriteFailed(path string, j *job.Job, code string, debited time.Time) error {
	if j == nil {
		j = &job.Job{}
	}
	if code != "" {
		code = ",code=" + quoted(code)
	}
	return metricsOf(j.Name, j.Dataset.ID).write(path, code, "1", debited)
}

// WriteMetrics writes the metrics of a run that made its releases.
func WriteMetrics(path string, rep *report.Report, debited time.Time) error {
	m := metricsOf(rep.Job.Name, rep.Dataset.ID)
	m.gauge("dprelease_charged_epsilon", "What the releases of the job cost.", "", fmt.Sprint(rep.Guarantee.Epsilon))
	m.gauge("dprelease_charged_delta", "What the releases of the job cost.", "", fmt.Sprint(rep.Guarantee.Delta))
	m.gauge("dprelease_releases", "How many releases the job made.", "", fmt.Sprint(len(rep.Releases)))
	if rep.Budget != nil {
		for _, a := range rep.Budget.Amounts {
			m.gauge("dprelease_budget_spent", "What the account of the data set has spent.", ",unit="+quoted(a.Unit), a.Spent)
		}
		for _, a := range rep.Budget.Amounts {
			if a.Limit != "" {
				m.gauge("dprelease_budget_limit", "What the account of the data set may spend.", ",unit="+quoted(a.Unit), a.Limit)
			}
		}
	}
	return m.write(path, "", "0", debited)
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func quoted(s string) string { return `"` + escapes.Replace(s) + `"` }
