package lineage

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/report"
)

const (
	spec  = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
	home  = "https://github.com/dprelease/dprelease"
	facet = "dprelease_privacyLoss"
)

// event is a RunEvent of OpenLineage 2-0-2.
type event struct {
	EventTime string    `json:"eventTime"`
	Producer  string    `json:"producer"`
	SchemaURL string    `json:"schemaURL"`
	EventType string    `json:"eventType"`
	Run       run       `json:"run"`
	Job       entity    `json:"job"`
	Inputs    []dataset `json:"inputs"`
	Outputs   []dataset `json:"outputs"`
}

type run struct {
	ID     string         `json:"runId"`
	Facets map[string]any `json:"facets,omitempty"`
}

type entity struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Facets    map[string]any `json:"facets,omitempty"`
}

type dataset = entity

// privacyLoss is the facet of specs/lineage-v1.schema.json.
type privacyLoss struct {
	Producer   string      `json:"_producer"`
	SchemaURL  string      `json:"_schemaURL"`
	Code       string      `json:"code,omitempty"`  // why the run failed
	Spent      string      `json:"spent,omitempty"` // what a failure spent
	Dataset    string      `json:"dataset"`
	Unit       string      `json:"unit"`
	Relation   string      `json:"relation"`
	Epsilon    *float64    `json:"epsilon,omitempty"`
	Delta      *float64    `json:"delta,omitempty"`
	Designs    []string    `json:"designs,omitempty"`
	Mechanisms []mechanism `json:"mechanisms,omitempty"`
}

type mechanism struct {
	Release string `json:"release"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // of a plugin
	Rho     string `json:"rho,omitempty"`
}

// story holds the facts that the events of one run share.
type story struct {
	job     *job.Job
	version string // of the program
}

func (s story) producer() string { return home + "/tree/" + s.version }

// standard is a facet of OpenLineage's own.
func (s story) standard(name, version string, fields map[string]any) map[string]any {
	fields["_producer"] = s.producer()
	fields["_schemaURL"] = "https://openlineage.io/spec/facets/" + version + "/" + name + ".json#/$defs/" + name
	return fields
}

// namespace holds the jobs, and the tables that a job names itself.
const namespace = "dprelease"

// RunID names the run of a job. It is the same when the run is tried again, because it is
// made from what the job asks for.
func RunID(j *job.Job) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(home+"#"+namespace+"#"+j.Digest())).String()
}

// event is the event of one type.
func (s story) event(kind string, at time.Time, loss privacyLoss) event {
	loss.Producer = s.producer()
	loss.SchemaURL = home + "/blob/" + s.version + "/specs/lineage-v1.schema.json#/$defs/DpreleasePrivacyLossRunFacet"
	loss.Dataset, loss.Unit, loss.Relation = s.job.Dataset.ID, s.job.Dataset.Unit, s.job.Dataset.Relation.String()
	return event{
		EventTime: at.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Producer: s.producer(), SchemaURL: spec, EventType: kind,
		Run: run{ID: RunID(s.job), Facets: map[string]any{
			facet:               loss,
			"processing_engine": s.standard("ProcessingEngineRunFacet", "1-1-1", map[string]any{"name": "dprelease", "version": s.version}),
		}},
		Job: entity{Namespace: namespace, Name: s.job.Name, Facets: map[string]any{
			"jobType": s.standard("JobTypeJobFacet", "2-0-4",
				map[string]any{"processingType": "BATCH", "integration": "DPRELEASE", "jobType": "JOB"}),
		}},
		Inputs:  s.inputs(),
		Outputs: []dataset{},
	}
}

// inputs are the table, or the tables, of the job.
func (s story) inputs() (all []dataset) {
	for _, name := range s.job.TableNames() {
		d := story{s.job.Of(name), s.version}.input()
		if s.job.Lineage != "" && name != "" {
			d.Name += "." + name
		}
		all = append(all, d)
	}
	return all
}

// input is the table: its path, or what the job calls it, and the snapshot of it that was read.
func (s story) input() dataset {
	d := s.table()
	if id := s.job.Dataset.Source.Snapshot; id != 0 {
		d.Facets = map[string]any{"version": s.standard("DatasetVersionDatasetFacet", "1-0-1",
			map[string]any{"datasetVersion": strconv.FormatInt(id, 10)})}
	}
	return d
}

func (s story) table() dataset {
	if name := s.job.Lineage; name != "" {
		return dataset{Namespace: namespace, Name: name}
	}
	source := &s.job.Dataset.Source
	if source.Postgres.Empty() {
		return file(source.Path)
	}
	// The naming of OpenLineage for PostgreSQL, without the user.
	u, err := url.Parse(source.Postgres.Reveal())
	if err != nil {
		return dataset{Namespace: "postgres", Name: cmp.Or(source.Table, "query")}
	}
	return dataset{Namespace: "postgres://" + u.Host, Name: strings.Trim(u.Path, "/") + "." + cmp.Or(source.Table, "query")}
}

func file(path string) dataset {
	if root, key, _, ok := address.Split(path); ok && address.Is(path) {
		return dataset{Namespace: root, Name: key}
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return dataset{Namespace: "file", Name: filepath.ToSlash(path)}
}

// released is the event of a run whose releases are there.
func (s story) released(at time.Time, dir string, rep *report.Report) event {
	loss := privacyLoss{Epsilon: &rep.Guarantee.Epsilon, Delta: &rep.Guarantee.Delta}
	for _, d := range rep.Draws {
		loss.Designs = append(loss.Designs, d.Design)
	}
	outputs := []dataset{}
	for _, r := range rep.Releases {
		m := mechanism{Release: r.Name, Name: r.Mechanism.Name, Version: r.Mechanism.Version, SHA256: r.Mechanism.SHA256}
		if r.Rho != nil {
			m.Rho = r.Rho.Charged
		}
		loss.Mechanisms = append(loss.Mechanisms, m)
		fields := make([]map[string]string, len(r.Fields))
		for i, f := range r.Fields {
			fields[i] = map[string]string{"name": f.Name}
		}
		for _, f := range r.Files {
			out := file(address.In(dir, f.Path))
			out.Facets = map[string]any{"schema": s.standard("SchemaDatasetFacet", "1-2-0", map[string]any{"fields": fields})}
			outputs = append(outputs, out)
		}
	}
	e := s.event("COMPLETE", at, loss)
	e.Outputs = outputs
	return e
}
