package plan

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// refusals lists the faults of a release, each with the path of the key within the release.
type refusals []struct{ path, message, hint string }

func (e refusals) Error() string { return e[0].message }

// ParamProblems are the parameters that the built-in mechanisms of a job cannot take,
// for a job that has other problems and so no plan. It starts nothing.
func ParamProblems(j *job.Job, builtins []sdk.Description) job.Problems {
	var problems job.Problems
	for i, r := range j.Releases {
		k := slices.IndexFunc(builtins, func(d sdk.Description) bool { return d.Name == r.Mechanism })
		if k < 0 || len(r.Params) == 0 {
			continue
		}
		schema, err := params.Compile(builtins[k].Params)
		if err != nil {
			continue // a plan says why
		}
		if err := validate(schema, r.Params); err != nil {
			problems = append(problems, planProblems(j, i, err)...)
		}
	}
	return problems
}

// paramProblems are those of the releases of a draw, where the job has other problems
// and the draw no plan.
func (d *DraftDraw) paramProblems(j *job.Job) job.Problems {
	var problems job.Problems
	for _, a := range d.asks {
		if a.schema == nil {
			continue
		}
		if err := validate(a.schema, j.Releases[a.index].Params); err != nil {
			problems = append(problems, planProblems(j, a.index, err)...)
		}
	}
	return problems
}

// validate holds parameters to a schema, and returns refusals for those that are wrong.
func validate(schema *params.Schema, raw json.RawMessage) error {
	err := schema.Validate(raw)
	var wrong params.Problems
	if !errors.As(err, &wrong) {
		return err
	}
	all := make(refusals, len(wrong))
	for i, p := range wrong {
		all[i].path, all[i].message = ".params"+paramPath(p.Path), p.Message
		if p.Unknown && len(p.Path) == 1 {
			if near := problem.NearestWord(p.Path[0], schema.Names()); near != "" {
				all[i].hint = "did you mean " + near + "?"
			} else if names := schema.Names(); len(names) > 0 && len(names) <= 12 {
				all[i].hint = "the parameters are " + strings.Join(names, ", ")
			}
		}
	}
	return all
}

// paramPath writes a path as it follows "params".
func paramPath(keys []string) string {
	path := ""
	for _, key := range keys {
		if key != "" && strings.Trim(key, "0123456789") == "" {
			path += "[" + key + "]"
		} else {
			path = job.Key(path, key)
		}
	}
	if path != "" && !strings.HasPrefix(path, "[") {
		path = "." + path
	}
	return path
}
