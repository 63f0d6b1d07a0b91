package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/columns"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// dying is a mean whose process ends in the middle of the rows.
type dying struct{ mean.Mechanism }

func (d dying) Describe() sdk.Description {
	about := d.Mechanism.Describe()
	about.Name = "dying"
	return about
}

func (dying) Release(_ context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, _ sdk.Host) (sdk.Result, error) {
	_, _ = rows.Next()
	os.Exit(3)
	return sdk.Result{}, nil
}

// Of a mechanism that ends while rows are on their way it is said that it crashed, and
// not that it was given up, which is what becomes of the others: nothing is published.
func TestMechanismDiesAmongRows(t *testing.T) {
	const rows = 2_000_000 // more than lie on their way at once
	data := tableOf(t, columns.Column{Name: "x", Float64: make([]float64, rows)})
	for name, releases := range map[string]string{
		"alone":        "{name: r, mechanism: dying, params: {column: x}, guarantee: {epsilon: 0.1}}",
		"with another": "{name: q, mechanism: mean, params: {column: x}, guarantee: {epsilon: 0.1}}\n  - {name: r, mechanism: dying, params: {column: x}, guarantee: {epsilon: 0.1}}",
	} {
		path := write(t, tinyJob, "TABLE", data, "size: 4", fmt.Sprintf("size: %d", rows),
			"{name: r, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}}", releases)
		_, err := run(t, path)
		if exit, code := exitOf(err); exit != failure.ExitPlugin || code != "PLUGIN_CRASH" || !strings.Contains(err.Error(), "dying") {
			t.Errorf("%s: exit %d, code %s: %v", name, exit, code, err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "out")); err == nil {
			t.Errorf("%s: something was published", name)
		}
	}
}
