//go:build linux

package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
	"github.com/dprelease/dprelease/privacy"
)

// forever keeps a plugin's flood going in the background.
func forever(w io.Writer, b []byte) {
	for {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

func allModes() map[string]func(args []string) {
	flood := []byte(strings.Repeat("4815162342 ", 20_000)) // one line of 220 kB and more
	return map[string]func(args []string){
		"good":  func([]string) { serve.Mechanisms(sum{}) },
		"two":   func([]string) { serve.Mechanisms(sum{name: "one"}, sum{name: "other"}) },
		"total": func(a []string) { serve.Mechanisms(total{sum{name: a[0]}}) },
		"query": func(a []string) { serve.Mechanisms(query{sum{name: a[0]}}) },
		"raw":   func(a []string) { serveRaw(a[0]) },
		"sleep": func([]string) {
			time.Sleep(time.Minute)
		},

		// Before the handshake.
		"exit":    func([]string) { os.Exit(3) },
		"garbage": func([]string) { handshake("hello 4815162342") },
		"silent":  func([]string) { time.Sleep(time.Minute) },
		"half-line": func([]string) {
			os.Stdout.WriteString("1|1|unix|")
			time.Sleep(time.Minute)
		},
		"flood-first":  func([]string) { forever(os.Stdout, flood) },
		"core-version": func([]string) { handshake("2|1|unix|" + socketPath() + "|grpc|") },
		"version":      func([]string) { handshake("1|3|unix|" + socketPath() + "|grpc|") },
		"netrpc":       func([]string) { handshake("1|1|unix|" + socketPath() + "|netrpc|") },
		"certificate":  func([]string) { handshake("1|1|unix|" + socketPath() + "|grpc|" + strings.Repeat("x", 60)) },
		"address":      func(a []string) { handshake("1|1|" + a[1] + "|" + a[2] + "|grpc|") },
		"abstract":     func([]string) { handshake("1|1|unix|@dprelease|grpc|") },
		"no-socket":    func([]string) { handshake("1|1|unix|" + socketPath() + "|grpc|") },
		"link": func(a []string) {
			_ = os.Symlink(a[1], socketPath())
			handshake("1|1|unix|" + socketPath() + "|grpc|")
		},
		"deaf": func([]string) { // listens and never answers
			l, err := net.Listen("unix", socketPath())
			if err != nil {
				os.Exit(9)
			}
			defer l.Close()
			handshake("1|1|unix|" + socketPath() + "|grpc|")
		},

		// Around a mechanism that works.
		"flood-stdout": func([]string) { // past go-plugin, on the pipe itself
			out := os.Stdout
			serve.Mechanisms(sum{release: func(ctx context.Context, r sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
				for range 20 { // blocks for ever unless somebody reads
					_, _ = out.Write(flood)
				}
				go forever(out, flood)
				return sum{}.Release(ctx, r, rows, h)
			}})
		},
		"flood-stderr": func([]string) {
			go forever(os.Stderr, flood)
			serve.Mechanisms(sum{})
		},
		"flood-both": func([]string) { // what go-plugin carries over gRPC
			serve.Mechanisms(sum{release: func(ctx context.Context, r sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
				go forever(os.Stdout, flood)
				go forever(os.Stderr, flood)
				return sum{}.Release(ctx, r, rows, h)
			}})
		},
		"silent-after": func([]string) { // serves, but ignores its standard input
			serveRaw("ok")
		},
		"inside": func([]string) { serve.Mechanisms(inside{}) },
		"grandchild": func(a []string) {
			child(a[0], nil, false)
			serve.Mechanisms(sum{})
		},
		"grandchild-session": func(a []string) {
			child(a[0], &syscall.SysProcAttr{Setsid: true}, false)
			serve.Mechanisms(sum{})
		},
		"daemon": func(a []string) { // a child that starts the sleeper and ends
			cmd := exec.Command("/proc/self/exe", "plugin", "daemonize", a[0])
			_ = cmd.Run()
			serve.Mechanisms(sum{})
		},
		"daemonize": func(a []string) { child(a[0], &syscall.SysProcAttr{Setsid: true}, true) },
		"orphan-and-exit": func(a []string) {
			child(a[0], &syscall.SysProcAttr{Setsid: true}, false)
			os.Exit(3)
		},
		"panic": func([]string) {
			serve.Mechanisms(sum{release: func(_ context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, _ sdk.Host) (sdk.Result, error) {
				total, _, _ := tally(rows)
				panic("total is " + strconv.FormatInt(total, 10) + " with " + strconv.Itoa(secret))
			}})
		},
		"failure": func([]string) {
			serve.Mechanisms(sum{release: func(_ context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, _ sdk.Host) (sdk.Result, error) {
				_, _, _ = tally(rows)
				return sdk.Result{}, errors.New("value 4815162342 is odd")
			}})
		},
		"sdk-nan": func([]string) {
			serve.Mechanisms(sum{event: privacy.Compose{}, release: func(context.Context, sdk.ReleaseRequest, sdk.Rows, sdk.Host) (sdk.Result, error) {
				r := good(1, 2, 3)
				r.Columns[0].Float64[0] = math.NaN()
				return r, nil
			}})
		},
		"sdk-shape": func([]string) {
			serve.Mechanisms(sum{event: privacy.Compose{}, release: func(context.Context, sdk.ReleaseRequest, sdk.Rows, sdk.Host) (sdk.Result, error) {
				r := good(1, 2, 3)
				r.Columns[0].Float64 = r.Columns[0].Float64[:1]
				return r, nil
			}})
		},
		// Calls that are planned and cannot be carried out.
		"off-lattice": once(privacy.Approx{Eps: 1}, func(ctx context.Context, h sdk.Host) error {
			_, err := h.SmoothLaplace(ctx, privacy.Approx{Eps: 1}, 12.3, 2, 0.25) // the plan says 0.5
			return err
		}),
		"negative-scale": once(privacy.Approx{Eps: 1}, func(ctx context.Context, h sdk.Host) error {
			_, err := h.SmoothLaplace(ctx, privacy.Approx{Eps: 1}, 12.3, -2, 0.5)
			return err
		}),
		"few-users": once(privacy.Shuffled{N: 5, Event: privacy.RandomizedResponse{K: 4, Eps0: 2}}, func(ctx context.Context, h sdk.Host) error {
			_, err := h.RandomizeCategories(ctx, privacy.RandomizedResponse{K: 4, Eps0: 2}, []int32{0, 1, 2, 3})
			return err
		}),
		"no-category": once(privacy.RandomizedResponse{K: 4, Eps0: 2}, func(ctx context.Context, h sdk.Host) error {
			_, err := h.RandomizeCategories(ctx, privacy.RandomizedResponse{K: 4, Eps0: 2}, []int32{4})
			return err
		}),
		"early-sample": once(privacy.Poisson{Rate: 0.5, Event: laplace}, func(ctx context.Context, h sdk.Host) error {
			_, err := h.NextSample(ctx, privacy.Poisson{Rate: 0.5, Event: laplace})
			return err
		}),
		"wide": func([]string) { // a vector that no message of 4 MiB can hold
			serve.Mechanisms(sum{event: laplace, release: func(ctx context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
				if _, _, err := tally(rows); err != nil {
					return sdk.Result{}, err
				}
				v := make([]int64, 1_000_000)
				for i := range v {
					v[i] = int64(i)
				}
				out, err := h.AddLaplace(ctx, laplace, v)
				if err != nil {
					return sdk.Result{}, err
				}
				return good(out[0], out[999_999], int64(len(out))), nil
			}})
		},
		"lazy": func([]string) { // reads no row; the SDK reads them all the same
			serve.Mechanisms(sum{event: laplace, release: func(ctx context.Context, _ sdk.ReleaseRequest, _ sdk.Rows, h sdk.Host) (sdk.Result, error) {
				_, err := h.AddLaplace(ctx, laplace, []int64{1})
				return good(1, 2, 3), err
			}})
		},
		"selfish": func([]string) {
			serve.Mechanisms(sum{selfish: true, event: privacy.Gaussian{Sigma: 1}, release: func(_ context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, _ sdk.Host) (sdk.Result, error) {
				_, _, err := tally(rows)
				return good(1, 2, 3), err
			}})
		},
		"selfish-asks": func([]string) {
			serve.Mechanisms(sum{selfish: true, event: laplace, release: func(ctx context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
				_, _, err := tally(rows)
				_, _ = h.AddLaplace(ctx, laplace, []int64{1})
				return good(1, 2, 3), err
			}})
		},
		"all-calls": func([]string) { serve.Mechanisms(allCalls) },
		"big":       func([]string) { serve.Mechanisms(bigResult) },
		"bench":     func([]string) { serve.Mechanisms(benchSum) },
		"steps":     func([]string) { serve.Mechanisms(stepping) },
		"host":      hostMode,
	}
}

// once makes one call before it has read a row, and ends as if all were well.
func once(event privacy.Event, call func(context.Context, sdk.Host) error) func([]string) {
	return func([]string) {
		serve.Mechanisms(sum{event: event, release: func(ctx context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
			_ = call(ctx, h)
			_, _, err := tally(rows)
			return good(1, 2, 3), err
		}})
	}
}

// inside describes what a plugin finds around itself.
type inside struct{ sum }

func (inside) Describe() sdk.Description {
	d := sum{}.Describe()
	d.Name = "inside"
	var fds []string
	names, _ := os.ReadDir("/proc/self/fd")
	for _, n := range names {
		to, _ := os.Readlink("/proc/self/fd/" + n.Name())
		fds = append(fds, n.Name()+"="+to)
	}
	stdin, _ := os.Stdin.Stat()
	var core syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_CORE, &core)
	wd, _ := os.Getwd()
	d.Params, _ = json.Marshal(map[string]any{
		"env": os.Environ(), "fds": fds, "stdin": stdin.Mode().String(), "core": core.Cur, "wd": wd,
	})
	return d
}

// allCalls makes every kind of noise call.
var allEvents = privacy.Compose{Events: []privacy.Event{
	privacy.Repeat{N: 3, Event: privacy.Poisson{Rate: 0.5, Event: privacy.Compose{Events: []privacy.Event{gaussian, laplace}}}},
	privacy.Approx{Eps: 1, Delta: 1e-6},
	privacy.Pure{Eps: 0.25},
	privacy.RandomizedResponse{K: 3, Eps0: 1},
	privacy.Shuffled{N: 5, Event: privacy.RandomizedResponse{K: 4, Eps0: 2}},
}}

var allCalls = sum{name: "all", event: allEvents, release: func(ctx context.Context, _ sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	if _, _, err := tally(rows); err != nil {
		return sdk.Result{}, err
	}
	n := int64(0)
	for range 3 {
		idx, err := h.NextSample(ctx, privacy.Poisson{Rate: 0.5, Event: privacy.Compose{Events: []privacy.Event{gaussian, laplace}}})
		if err != nil {
			return sdk.Result{}, err
		}
		for _, i := range idx {
			n = 10*n + i
		}
		if _, err := h.AddGaussian(ctx, gaussian, nil); err != nil {
			return sdk.Result{}, err
		}
		if _, err := h.AddLaplace(ctx, laplace, make([]int64, 1000)); err != nil {
			return sdk.Result{}, err
		}
	}
	v, err := h.SmoothLaplace(ctx, privacy.Approx{Eps: 1, Delta: 1e-6}, 12.3, 2, 0.5)
	if err != nil {
		return sdk.Result{}, err
	}
	at, err := h.Select(ctx, privacy.Pure{Eps: 0.25}, []sdk.Piece{{Lo: -7, Hi: 3, Score: 2}, {Lo: 4, Hi: 9}}, 0.125)
	if err != nil {
		return sdk.Result{}, err
	}
	a, err := h.RandomizeCategories(ctx, privacy.RandomizedResponse{K: 3, Eps0: 1}, []int32{0, 1, 2})
	if err != nil {
		return sdk.Result{}, err
	}
	b, err := h.RandomizeCategories(ctx, privacy.RandomizedResponse{K: 4, Eps0: 2}, []int32{0, 1, 2, 3, 0})
	if err != nil {
		return sdk.Result{}, err
	}
	join := func(codes []int32) string {
		var s strings.Builder
		for _, c := range codes {
			s.WriteString(strconv.Itoa(int(c)))
		}
		return s.String()
	}
	return sdk.Result{Columns: []sdk.ResultColumn{
		{Name: "value", Float64: []float64{v, 0}}, {Name: "n", Int64: []int64{n, at}}, {Name: "label", Texts: []string{join(a), join(b)}},
	}}, nil
}}

// bigResult returns a million rows, many messages' worth.
var bigResult = sum{name: "big", plan: func(req sdk.PlanRequest) (sdk.Plan, error) {
	plan, err := sum{event: laplace}.defaultPlan(req)
	plan.Rows = 1_000_000
	return plan, err
}, release: func(ctx context.Context, r sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	total, first, err := tally(rows)
	if err != nil {
		return sdk.Result{}, err
	}
	noisy, err := h.AddLaplace(ctx, laplace, []int64{total})
	if err != nil {
		return sdk.Result{}, err
	}
	out := sdk.Result{Columns: []sdk.ResultColumn{{Name: "value"}, {Name: "n"}, {Name: "label"}}}
	for i := range r.Plan.Rows {
		out.Columns[0].Float64 = append(out.Columns[0].Float64, float64(noisy[0])/2)
		out.Columns[1].Int64 = append(out.Columns[1].Int64, i+first)
		out.Columns[2].Texts = append(out.Columns[2].Texts, strconv.FormatInt(i, 36))
	}
	return out, nil
}}
