package figure

import (
	"math"
	"slices"
)

// Axis is one axis of a frame.
type Axis struct {
	Name     string
	Min, Max float64
	Log      bool
	Ticks    Ticker
}

// place returns the position of x between the ends of the axis, 0 to 1.
func (a Axis) place(x float64) float64 {
	if a.Log {
		return math.Log(x/a.Min) / math.Log(a.Max/a.Min)
	}
	return (x - a.Min) / (a.Max - a.Min)
}

// Key explains a curve in the legend of a frame.
type Key struct{ Class, Name string }

// Frame is a drawing with two axes, narrow enough to be read on a phone.
type Frame struct {
	Drawing
	X, Y                     Axis
	left, right, top, bottom float64
}

// NewFrame draws the axes and the legend; curves and marks come after.
func NewFrame(x, y Axis, keys ...Key) *Frame {
	f := &Frame{Drawing: Drawing{Width: 360, Height: 290}, X: x, Y: y, left: 44, right: 348, top: 26, bottom: 246}
	for _, t := range y.Ticks.Ticks(y.Min, y.Max) {
		f.left = math.Max(f.left, TextWidth(t.Label)+10)
	}
	f.Width, f.right = f.Width+f.left-44, f.right+f.left-44
	column := 8.0
	for _, k := range keys {
		if w := TextWidth(k.Name) + 30; column+w > f.Width && column > 8 {
			column, f.top, f.bottom, f.Height = 8, f.top+16, f.bottom+16, f.Height+16
		}
		f.key(column, f.top-16, k)
		column += TextWidth(k.Name) + 46
	}
	f.top, f.bottom, f.Height = f.top+14, f.bottom+14, f.Height+14
	f.Text(8, f.top-9, "start", "small", y.Name)
	f.Text((f.left+f.right)/2, f.Height-8, "middle", "small", x.Name)
	for _, t := range x.Ticks.Ticks(x.Min, x.Max) {
		at := f.x(t.Value)
		f.Line(at, f.top, at, f.bottom, "grid")
		if t.Label != "" {
			f.Text(math.Min(at, f.Width-TextWidth(t.Label)/2), f.bottom+15, "middle", "small", t.Label)
		}
	}
	for _, t := range y.Ticks.Ticks(y.Min, y.Max) {
		f.Line(f.left, f.y(t.Value), f.right, f.y(t.Value), "grid")
		f.Text(f.left-5, f.y(t.Value)+4, "end", "small", t.Label)
	}
	f.Path([]Point{{f.left, f.top}, {f.left, f.bottom}, {f.right, f.bottom}}, "axis")
	return f
}

func (f *Frame) key(x, y float64, k Key) {
	if slices.Contains(Shapes, k.Class) {
		f.mark(x+12, y-4, k.Class)
	} else {
		f.Line(x, y-4, x+24, y-4, k.Class)
	}
	f.Text(x+29, y, "start", "small", k.Name)
}

func (f *Frame) x(v float64) float64 { return f.left + f.X.place(v)*(f.right-f.left) }
func (f *Frame) y(v float64) float64 { return f.bottom - f.Y.place(v)*(f.bottom-f.top) }

// Curve draws the points that lie inside the frame.
func (f *Frame) Curve(points []Point, class string) {
	var on []Point
	for _, p := range points {
		q := Point{f.x(p.X), f.y(p.Y)}
		if q.X > f.left-1 && q.X < f.right+1 && q.Y > f.top-1 && q.Y < f.bottom+1 { // not NaN
			on = append(on, q)
		}
	}
	f.Path(on, class)
}

// Band fills what lies between a lower and an upper line.
func (f *Frame) Band(x, low, high []float64, class string) {
	points := make([]Point, 2*len(x))
	for i := range x {
		points[i], points[len(points)-1-i] = Point{x[i], low[i]}, Point{x[i], high[i]}
	}
	f.Outline(points, class)
}

// Outline closes and fills the line around some points.
func (f *Frame) Outline(points []Point, class string) {
	on := make([]Point, 0, len(points)+1)
	for _, p := range points {
		on = append(on, Point{f.x(p.X), f.y(p.Y)})
	}
	f.Path(append(on, on[0]), class)
}

// Shapes are the classes of marks.
var Shapes = []string{"ring", "cross", "triangle", "box", "disc"}

// mark draws a mark of one of the shapes at a place of the drawing.
func (f *Frame) mark(x, y float64, shape string) {
	const r = 4
	switch shape {
	case "ring", "disc":
		f.Circle(x, y, r, shape)
	case "cross":
		f.Line(x-r, y-r, x+r, y+r, shape)
		f.Line(x-r, y+r, x+r, y-r, shape)
	case "triangle":
		f.Path([]Point{{x - r, y + r}, {x, y - r}, {x + r, y + r}, {x - r, y + r}}, shape)
	case "box":
		f.Path([]Point{{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}, {x - r, y - r}}, shape)
	}
}

// Mark marks a point with one of the shapes.
func (f *Frame) Mark(p Point, shape string) { f.mark(f.x(p.X), f.y(p.Y), shape) }

// Ring marks one point.
func (f *Frame) Ring(x, y float64) { f.Circle(f.x(x), f.y(y), 4, "ring") }

// Dot marks a point of a curve with a disc.
func (f *Frame) Dot(x, y float64) { f.Circle(f.x(x), f.y(y), 3.5, "dot") }

// Bar fills from the bottom up to y, between two values of x.
func (f *Frame) Bar(from, to, y float64, class string) {
	l, r, t := f.x(from), f.x(to), f.y(math.Max(y, f.Y.Min))
	f.Rect(l+0.7, t, math.Max(r-l-1.4, 0.5), f.bottom-t, class, 1)
}

// Whisker draws an upright error bar with ends.
func (f *Frame) Whisker(x, low, high float64, class string) {
	low, high = math.Max(low, f.Y.Min), math.Min(high, f.Y.Max)
	if !(high > low) {
		return
	}
	at := f.x(x)
	f.Line(at, f.y(low), at, f.y(high), class)
	f.Line(at-4, f.y(low), at+4, f.y(low), class)
	f.Line(at-4, f.y(high), at+4, f.y(high), class)
}
