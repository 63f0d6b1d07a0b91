package pipeline

import (
	"encoding/json"
	"io"

	"github.com/dprelease/dprelease/plugins/sdk"
)

func tmpWrite(w io.Writer, format string, r sdk.Result) error { return json.NewEncoder(w).Encode(r) }
