package account

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"
)

// shapes are questions with holes: a scale or ε, a rate, a whole number, an ε
// and a δ to ask at.
var shapes = []string{
	`{"relation":"add-remove","event":{"gaussian":{"sigma":%[1]s}},"query":{"delta":%[5]s}}`,
	`{"relation":"replace-one","event":{"laplace":{"scale":%[1]s}},"query":{"epsilon":%[4]s}}`,
	`{"relation":"add-remove","event":{"repeat":{"n":%[3]d,"event":{"poisson":{"rate":%[2]s,"event":{"gaussian":{"sigma":%[1]s}}}}}},"query":{"delta":%[5]s,"methods":["basic","rdp"]}}`,
	`{"relation":"replace-one","event":{"repeat":{"n":%[3]d,"event":{"poisson":{"rate":%[2]s,"event":{"laplace":{"scale":%[1]s}}}}}},"query":{"epsilon":%[4]s,"methods":["basic","rdp"]}}`,
	`{"relation":"replace-one","event":{"without_replacement":{"n":%[3]d,"N":1000000000,"event":{"pure":{"eps":%[1]s}}}},"query":{"delta":%[5]s}}`,
	`{"relation":"replace-one","event":{"with_replacement":{"n":%[3]d,"N":1000,"event":{"pure":{"eps":%[1]s}}}},"query":{"delta":%[5]s,"methods":["basic"]}}`,
	`{"relation":"replace-one","event":{"multistage":{"stages":[{"take":2,"of":20},{"take":%[3]d,"of":1000000000}],"event":{"pure":{"eps":%[1]s}}}},"query":{"delta":%[5]s}}`,
	`{"relation":"replace-one","event":{"randomized_response":{"k":%[3]d,"eps0":%[1]s}},"query":{"epsilon":%[4]s}}`,
	`{"relation":"add-remove","event":{"compose":[{"zcdp":{"rho":%[1]s}},{"approx":{"eps":%[4]s,"delta":%[5]s}}]},"query":{"delta":%[2]s}}`,
	`{"relation":"add-remove","event":{"gaussian":{}},"query":{"calibrate":"sigma","epsilon":%[4]s,"delta":%[5]s,"methods":["basic","rdp"]}}`,
	`{"relation":"add-remove","event":{"repeat":{"event":{"pure":{"eps":%[1]s}}}},"query":{"calibrate":"n","epsilon":%[4]s,"delta":%[5]s,"methods":["basic"]}}`,
}

// FuzzAnswer asks with numbers of every size: an answer or an error, in time,
// and never a number that is none.
func FuzzAnswer(f *testing.F) {
	for i := range shapes {
		f.Add(uint8(i), 1.0, 0.01, int64(1000), 1.0, 1e-6)
		f.Add(uint8(i), 1e-12, 1e-12, int64(1e9), 1e-12, 1e-300)
		f.Add(uint8(i), 1e4, 1.0, int64(1), 1e4, 0.5)
		f.Add(uint8(i), 0.0, 0.0, int64(0), 0.0, 0.0)
		f.Add(uint8(i), math.Inf(1), math.NaN(), int64(-1), -1.0, 1.0)
	}
	f.Fuzz(func(t *testing.T, shape uint8, x, rate float64, n int64, eps, delta float64) {
		s := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
		text := fmt.Sprintf(shapes[int(shape)%len(shapes)], s(x), s(rate), n, s(eps), s(delta))
		start := time.Now()
		line := answerLine(&task{number: 1, text: []byte(text)}, "fuzz")
		if took := time.Since(start); took > time.Minute {
			t.Fatalf("%s took %v", text, took)
		}
		var got struct {
			Epsilon, Delta, Lower, Upper *float64
			Method                       *string
			Methods                      map[string]float64
			Reason, Error                string
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %s: %v", text, line, err)
		}
		if got.Error != "" {
			return
		}
		if got.Method == nil {
			if got.Reason == "" {
				t.Fatalf("%s: nothing charged and no reason: %s", text, line)
			}
			return
		}
		if got.Epsilon == nil || got.Delta == nil || got.Lower == nil || got.Upper == nil ||
			!(*got.Epsilon >= 0 && *got.Delta >= 0 && *got.Delta <= 1 && *got.Lower >= 0 && *got.Lower <= *got.Upper) {
			t.Fatalf("%s: %s", text, line)
		}
		if best, ok := got.Methods[*got.Method]; !ok || best != *got.Upper {
			t.Fatalf("%s: charged is not what the method says: %s", text, line)
		}
	})
}
