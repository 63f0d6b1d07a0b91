package output

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// A value with line ends stays on the line of its row.
func TestValuesAreOneLine(t *testing.T) {
	var out bytes.Buffer
	b := bufio.NewWriter(&out)
	writeValues(b, sdk.Result{Columns: []sdk.ResultColumn{{Name: "a\tb", String: []string{"one\r\ntwo", "three"}}, {Name: "n", Int64: []int64{1, 2}}}})
	b.Flush()
	if lines := strings.Split(out.String(), "\n"); len(lines) != 4 || !strings.Contains(lines[0], "a b") || !strings.Contains(lines[1], "one  two") {
		t.Errorf("%q", out.String())
	}
}
