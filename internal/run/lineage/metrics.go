package lineage

import (
	"fmt"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/data/whole"

	"github.com/dprelease/dprelease/report"
)

// WriteMetrics writes what a run left behind in the text format of Prometheus, for the
// textfile collector of its node exporter. The file appears whole or not at all.
func WriteMetrics(path string, rep *report.Report, debited time.Time) error {
	var b strings.Builder
	labels := fmt.Sprintf(`job_name=%s,dataset=%s`, quoted(rep.Job.Name), quoted(rep.Dataset.ID))
	gauge := func(name, help, more, value string) {
		if !strings.Contains(b.String(), "# HELP "+name+" ") {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		}
		fmt.Fprintf(&b, "%s{%s%s} %s\n", name, labels, more, value)
	}
	gauge("dprelease_charged_epsilon", "What the releases of the job cost.", "", fmt.Sprint(rep.Guarantee.Epsilon))
	gauge("dprelease_charged_delta", "What the releases of the job cost.", "", fmt.Sprint(rep.Guarantee.Delta))
	gauge("dprelease_releases", "How many releases the job made.", "", fmt.Sprint(len(rep.Releases)))
	if rep.Budget != nil {
		for _, a := range rep.Budget.Amounts {
			gauge("dprelease_budget_spent", "What the account of the data set has spent.", ",unit="+quoted(a.Unit), a.Spent)
		}
		for _, a := range rep.Budget.Amounts {
			if a.Limit != "" {
				gauge("dprelease_budget_limit", "What the account of the data set may spend.", ",unit="+quoted(a.Unit), a.Limit)
			}
		}
	}
	if !debited.IsZero() {
		gauge("dprelease_debit_timestamp_seconds", "When the budget was spent.", "", fmt.Sprint(debited.Unix()))
	}
	return whole.WriteFile(path, []byte(b.String()), 0o644)
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func quoted(s string) string { return `"` + escapes.Replace(s) + `"` }
