//go:build linux

package host

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

func planned(t testing.TB, p *Plugin) sdk.ReleaseRequest {
	t.Helper()
	plan, err := p.Plan(context.Background(), request())
	if err != nil {
		t.Fatal(err)
	}
	return releaseOf(request(), plan)
}

func TestRefusal(t *testing.T) {
	p := start(t, "good", Limits{})
	req := request()
	req.Target.Epsilon = 0
	_, err := p.Plan(context.Background(), req)
	checkCode(t, err, CodeRefused)
	var e *Error
	errors.As(err, &e)
	if e.Detail != "epsilon must be positive?[31m really" {
		t.Errorf("detail %q", e.Detail)
	}
	if _, err := p.Plan(context.Background(), request()); err != nil {
		t.Errorf("a refusal ended the plugin: %v", err)
	}
	if n := len([]rune(printable(strings.Repeat("ä", 3*maxDetail)))); n != maxDetail+1 {
		t.Errorf("a refusal of %d characters is shown", n)
	}
}

// A mechanism that claims nothing about units with several rows never hears of a cap: it
// would take each row for a unit (P22).
func TestUncapped(t *testing.T) {
	p := start(t, "good", Limits{})
	req := request()
	req.Public.Cap = &sdk.Cap{Groups: 1, Rows: 2}
	_, err := p.Plan(context.Background(), req)
	checkCode(t, err, CodeRefused)
	r := planned(t, p)
	r.Public.Cap = req.Public.Cap
	drawn := &fakeDrawer{}
	_, err = p.Release(context.Background(), r, rows, drawn)
	if checkCode(t, err, CodeRefused); *drawn != (fakeDrawer{}) {
		t.Errorf("%+v was drawn", *drawn)
	}
	capped := start(t, "raw", Limits{}, "linear")
	if d, err := capped.Describe(context.Background()); err != nil || !d.Capped || !d.Linear {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := capped.Plan(context.Background(), req); err != nil {
		t.Errorf("one that says so is refused: %v", err)
	}
}

func TestMechanismChoice(t *testing.T) {
	c := command(t, "two")
	for name, code := range map[string]string{"one": "", "other": "", "third": CodeDescription, "": CodeDescription} {
		c.Mechanism = name
		p, err := Start(context.Background(), c, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Describe(context.Background())
		if code != "" {
			checkCode(t, err, code)
		} else if err != nil || d.Name != name {
			t.Errorf("%s: got %s, %v", name, d.Name, err)
		}
		p.Close()
	}
}

func TestSelfNoising(t *testing.T) {
	_, err := whole(t, command(t, "selfish"), Limits{})
	checkCode(t, err, CodeSelfNoising)
	c := command(t, "selfish")
	c.AllowSelfNoising = true
	p, err := Start(context.Background(), c, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Release(context.Background(), planned(t, p), rows, &fakeDrawer{}); err != nil {
		t.Error(err)
	}
	// It may not ask the host as well: what it did would no longer be one story.
	c = command(t, "selfish-asks")
	c.AllowSelfNoising = true
	_, err = whole(t, c, Limits{})
	checkCode(t, err, CodeNoiseMismatch)
}

func TestOversizeRequest(t *testing.T) {
	p := start(t, "good", Limits{})
	req := request()
	req.Public.Columns[1].Domain = []string{strings.Repeat("x", 5<<20)}
	_, err := p.Plan(context.Background(), req)
	checkCode(t, err, CodeOversize)
}

// A message may be as large as the pages of the protocol say, and not larger by a byte.
func TestMessageLimit(t *testing.T) {
	for mode, code := range map[string]string{"plan-at-limit": "", "plan-over-limit": CodeOversize} {
		p := start(t, "raw", Limits{}, mode)
		if _, err := p.Plan(context.Background(), request()); code == "" && err != nil {
			t.Errorf("%s: %v", mode, err)
		} else if code != "" {
			checkCode(t, err, code)
		}
	}
}

// An error of the feed's own comes back as it is, and the plugin ends.
func TestFeedError(t *testing.T) {
	everyWay(t, func(t *testing.T, p *Plugin, m string) {
		mine := errors.New("file is truncated")
		_, err := p.Release(context.Background(), planned(t, p), func(ctx context.Context, w RowWriter) error {
			_ = rows(ctx, w)
			return mine
		}, &fakeDrawer{})
		if err != mine {
			t.Errorf("got %v", err)
		}
		checkGone(t, m, p.dir.Path)
	})
}

func TestBadBatch(t *testing.T) {
	x, g := []float64{1, 2}, []int32{0, 1}
	for name, b := range map[string]sdk.Batch{
		"columns":    {Rows: 2, Columns: []sdk.Values{{Float64: x}}},
		"rows":       {Rows: 3, Columns: []sdk.Values{{Float64: x}, {Codes: g}}},
		"type":       {Rows: 2, Columns: []sdk.Values{{Codes: g}, {Codes: g}}},
		"bitmap":     {Rows: 2, Columns: []sdk.Values{{Float64: x, Valid: []byte{}}, {Codes: g}}},
		"category":   {Rows: 2, Columns: []sdk.Values{{Float64: x}, {Codes: g, Valid: []byte{3}}}},
		"code":       {Rows: 2, Columns: []sdk.Values{{Float64: x}, {Codes: []int32{0, 3}}}},
		"code-below": {Rows: 2, Columns: []sdk.Values{{Float64: x}, {Codes: []int32{0, -2}}}},
		"weights":    {Rows: 2, Columns: []sdk.Values{{Float64: x}, {Codes: g}}, Weights: x[:1]},
		"negative":   {Rows: -1, Columns: []sdk.Values{{Float64: x}, {Codes: g}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "good", Limits{})
			_, err := p.Release(context.Background(), planned(t, p), func(_ context.Context, w RowWriter) error { return w.Write(b) }, &fakeDrawer{})
			var e *Error
			if err == nil || errors.As(err, &e) {
				t.Errorf("got %v, want the caller's own mistake", err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	everyWay(t, func(t *testing.T, p *Plugin, m string) {
		req := planned(t, p)
		ctx, cancel := context.WithCancel(context.Background())
		_, err := p.Release(ctx, req, func(ctx context.Context, w RowWriter) error {
			_ = rows(ctx, w)
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}, &fakeDrawer{})
		checkCode(t, err, CodeCanceled)
		checkGone(t, m, p.dir.Path)
	})
	for _, after := range []time.Duration{0, 50 * time.Millisecond} { // before there is a process, and most likely behind
		ctx, cancel := context.WithCancel(context.Background())
		if after == 0 {
			cancel()
		}
		time.AfterFunc(after, cancel)
		began := time.Now()
		_, err := Start(ctx, command(t, "silent"), Limits{}) // it sleeps for a minute
		checkCode(t, err, CodeCanceled)
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("a start that was canceled after %s ends after %s", after, took)
		}
	}
}

// A plugin that dies, or answers early, while rows are still fed ends the feed.
func TestCrashEndsFeed(t *testing.T) {
	for _, c := range tier.Some([]struct{ mode, code string }{
		{"crash-between-rows", CodeCrash}, {"release-crash", CodeCrash},
		{"early-result-open", CodeProtocol}, {"early-result", CodeProtocol},
	}, 6) {
		p := start(t, "raw", Limits{Plan: 3 * time.Second}, c.mode)
		x, g := make([]float64, 1<<16), make([]int32, 1<<16)
		began := time.Now()
		_, err := p.Release(context.Background(), planned(t, p), func(_ context.Context, w RowWriter) error {
			for {
				if err := w.Write(sdk.Batch{Rows: len(x), Columns: []sdk.Values{{Float64: x}, {Codes: g}}}); err != nil {
					return err
				}
				if time.Since(began) > time.Minute {
					return errors.New("still fed")
				}
			}
		}, &fakeDrawer{})
		t.Log(c.mode)
		checkCode(t, err, c.code)
	}
}

func TestDrawerError(t *testing.T) {
	p := start(t, "good", Limits{})
	_, err := p.Release(context.Background(), planned(t, p), rows, &fakeDrawer{err: errors.New("sum 4815162342 overflows")})
	checkCode(t, err, CodeNoiseFailed)
}

// Every kind of call, with a drawer whose answers are known.
func TestAllCalls(t *testing.T) {
	p := start(t, "all-calls", Limits{})
	dr := &fakeDrawer{}
	got, err := p.Release(context.Background(), planned(t, p), rows, dr)
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Result{Columns: []sdk.ResultColumn{
		{Name: "value", Float64: []float64{12.5, 0}}, // 12.3 on the lattice of halves
		{Name: "n", Int64: []int64{30303, -7}},
		{Name: "label", Texts: []string{"120", "10321"}}, // shifted by one; the second also turned round
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if dr.samples != 3 || dr.gaussian != 3 || dr.laplace != 3 {
		t.Errorf("draws %+v", dr)
	}
}

// The same with the real noise: it must be there, and of the right size.
func TestRealNoise(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "all-calls", Limits{})
	if _, err := p.Release(context.Background(), planned(t, p), rows, NewDrawer(src)); err != nil {
		t.Fatal(err)
	}
	d := NewDrawer(src)
	v := make([]int64, 20_000)
	if err := d.Add(privacy.DiscreteLaplace{Scale: 10}, v); err != nil {
		t.Fatal(err)
	}
	var abs float64
	for _, x := range v {
		abs += math.Abs(float64(x))
	}
	// E|X| is 10 within 0.1, its standard error 0.07: six of them are 0.42.
	if m := abs / float64(len(v)); math.Abs(m-10) > 0.6 {
		t.Errorf("mean absolute noise %v, want 10", m)
	}
}

// A call that is planned but cannot be carried out fails the release, and nothing is
// drawn for it.
func TestImpossibleCalls(t *testing.T) {
	for _, mode := range []string{"off-lattice", "negative-scale", "few-users", "no-category", "early-sample"} {
		t.Run(mode, func(t *testing.T) {
			p := start(t, mode, Limits{})
			x, g := make([]float64, 1<<20), make([]int32, 1<<20) // more than a socket holds
			dr := &fakeDrawer{}
			_, err := p.Release(context.Background(), planned(t, p), func(_ context.Context, w RowWriter) error {
				return w.Write(sdk.Batch{Rows: len(x), Columns: []sdk.Values{{Float64: x}, {Codes: g}}})
			}, dr)
			checkCode(t, err, CodeNoiseFailed)
			if dr.samples+dr.others > 0 {
				t.Errorf("drawn: %+v", dr)
			}
		})
	}
}

// Nothing is drawn for a call that is not planned.
func TestNothingDrawn(t *testing.T) {
	for _, mode := range []string{"noise-order", "noise-scale", "noise-sensitivity", "noise-method", "noise-event-missing", "noise-sample"} {
		p := start(t, "raw", Limits{}, mode)
		dr := &fakeDrawer{}
		_, err := p.Release(context.Background(), planned(t, p), rows, dr)
		checkCode(t, err, CodeNoiseMismatch)
		if *dr != (fakeDrawer{}) {
			t.Errorf("%s: drawn %+v", mode, dr)
		}
	}
}

func TestWideNoise(t *testing.T) {
	p := start(t, "wide", Limits{})
	got, err := p.Release(context.Background(), planned(t, p), rows, &fakeDrawer{})
	if want := good(10, 999_999+10, 1_000_000); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestBigResult(t *testing.T) {
	p := start(t, "big", Limits{})
	got, err := p.Release(context.Background(), planned(t, p), rows, &fakeDrawer{})
	if err != nil {
		t.Fatal(err)
	}
	if n := got.Columns[1].Int64; len(n) != 1_000_000 || n[999_999] != 999_999+2 || got.Columns[2].Texts[35] != "z" {
		t.Errorf("result of %d rows is not what was sent", len(n))
	}
}

// A mechanism that leaves rows unread still has every row read for it.
func TestLazy(t *testing.T) {
	p := start(t, "lazy", Limits{})
	x, g := make([]float64, 1<<20), make([]int32, 1<<20)
	fed := false
	_, err := p.Release(context.Background(), planned(t, p), func(_ context.Context, w RowWriter) error {
		for range 4 {
			if err := w.Write(sdk.Batch{Rows: len(x), Columns: []sdk.Values{{Float64: x}, {Codes: g}}}); err != nil {
				return err
			}
		}
		fed = true
		return nil
	}, &fakeDrawer{})
	if err != nil || !fed {
		t.Errorf("fed %v, %v", fed, err)
	}
}

// No rows, no weights, weights, and batches larger than a record batch.
func TestRowShapes(t *testing.T) {
	everyWay(t, func(t *testing.T, p *Plugin, _ string) {
		req := planned(t, p)
		n := 150_001
		x, g, w := make([]float64, n), make([]int32, n), make([]float64, n)
		valid := make([]byte, (n+7)/8)
		var plain, weighted, first int64
		for i := range n {
			x[i], w[i], g[i] = float64(i%1000), float64(1+i%3), int32(i%4)-1
			if i%5 != 0 {
				valid[i/8] |= 1 << (i % 8)
				plain += 2 * int64(x[i])
				weighted += 2 * int64(x[i]*w[i])
			}
			if g[i] == 0 {
				first++
			}
		}
		cols := []sdk.Values{{Float64: x, Valid: valid}, {Codes: g}}
		for shape, c := range map[string]struct {
			feed        func(context.Context, RowWriter) error
			total, firs int64
		}{
			"none":  {func(context.Context, RowWriter) error { return nil }, 0, 0},
			"empty": {func(_ context.Context, w RowWriter) error { return w.Write(sdk.Batch{Columns: []sdk.Values{{}, {}}}) }, 0, 0},
			"plain": {func(_ context.Context, r RowWriter) error { return r.Write(sdk.Batch{Rows: n, Columns: cols}) }, plain, first},
			"weighted": {func(_ context.Context, r RowWriter) error {
				return r.Write(sdk.Batch{Rows: n, Columns: cols, Weights: w})
			}, weighted, first},
		} {
			got, err := p.Release(context.Background(), req, c.feed, &fakeDrawer{})
			if err != nil {
				t.Fatal(shape, err)
			}
			if want := good(c.total+10, c.firs+3, 10); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v", shape, got, want)
			}
		}
	})
}

// Releases that follow one another use one socket for their rows, and those at the same time one each.
func TestLaneServesTheNextRelease(t *testing.T) {
	p := start(t, "good", Limits{})
	req := planned(t, p)
	release := func(feed func(context.Context, RowWriter) error) {
		t.Helper()
		if _, err := p.Beside("sum").Release(t.Context(), req, feed, &fakeDrawer{}); err != nil {
			t.Fatal(err)
		}
	}
	release(rows)
	release(rows)
	if len(p.lanes) != 1 {
		t.Errorf("%d sockets after two releases", len(p.lanes))
	}
	release(func(ctx context.Context, w RowWriter) error {
		release(rows)
		return rows(ctx, w)
	})
	if len(p.lanes) != 2 {
		t.Errorf("%d sockets after two releases at the same time", len(p.lanes))
	}
}
