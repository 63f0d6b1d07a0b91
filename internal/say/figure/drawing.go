package figure

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Drawing is a picture that becomes part of a page. Its shapes have classes and no colours:
// the style sheet of the page gives them one set for light, one for dark and one for paper.
type Drawing struct {
	Width, Height float64

	body strings.Builder
}

// Point is a place of a drawing, or a pair of values on two axes.
type Point struct{ X, Y float64 }

// Line draws a straight line.
func (d *Drawing) Line(x1, y1, x2, y2 float64, class string) {
	d.Path([]Point{{x1, y1}, {x2, y2}}, class)
}

// Path draws straight lines from point to point.
func (d *Drawing) Path(points []Point, class string) {
	if len(points) < 2 {
		return
	}
	fmt.Fprintf(&d.body, `<path class="%s" d="`, class)
	for i, p := range points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		d.body.WriteString(letter + At(p.X) + " " + At(p.Y))
	}
	d.body.WriteString(`"/>`)
}

// Uprights draws upright lines in one piece.
func (d *Drawing) Uprights(xs []float64, top, bottom float64, class string) {
	if len(xs) == 0 {
		return
	}
	fmt.Fprintf(&d.body, `<path class="%s" d="`, class)
	for _, x := range xs {
		d.body.WriteString("M" + At(x) + " " + At(top) + "V" + At(bottom))
	}
	d.body.WriteString(`"/>`)
}

// Rect fills a rectangle; strength between 0 and 1 is how strong its colour is.
func (d *Drawing) Rect(x, y, w, h float64, class string, strength float64) {
	fmt.Fprintf(&d.body, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, class, At(x), At(y), At(w), At(h))
	if strength < 1 {
		fmt.Fprintf(&d.body, ` fill-opacity="%.2f"`, math.Max(strength, 0))
	}
	d.body.WriteString(`/>`)
}

// Circle draws a circle.
func (d *Drawing) Circle(x, y, r float64, class string) {
	fmt.Fprintf(&d.body, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, At(x), At(y), At(r))
}

// Text writes a text; anchor says what stands at x: its start, middle or end.
func (d *Drawing) Text(x, y float64, anchor, class, text string) {
	fmt.Fprintf(&d.body, `<text x="%s" y="%s"`, At(x), At(y))
	if anchor != "start" {
		class = strings.TrimSpace(class + " " + anchor)
	}
	if class != "" {
		fmt.Fprintf(&d.body, ` class="%s"`, class)
	}
	fmt.Fprintf(&d.body, `>%s</text>`, html.EscapeString(text))
}

// Turned writes a text that begins at a place and leans upwards.
func (d *Drawing) Turned(x, y float64, class, text string) {
	fmt.Fprintf(&d.body, `<text transform="translate(%s %s)rotate(-45)" class="%s">%s</text>`, At(x), At(y), class, html.EscapeString(text))
}

// Shapes returns the shapes as they stand in an SVG document.
func (d *Drawing) Shapes() string { return d.body.String() }

// HTML is the drawing as a part of a page. Its title and description serve readers who
// cannot see it.
func (d *Drawing) HTML(id, title, description string) template.HTML {
	id, title, description = html.EscapeString(id), html.EscapeString(title), html.EscapeString(description)
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc `+
		`id="%s-d">%s</desc>%s</svg>`, //nolint:gosec // every text was escaped
		At(d.Width), At(d.Height), id, id, id, title, id, description, d.body.String()))
}

// Ornament is a drawing that says nothing which the words beside it do not say.
func (d *Drawing) Ornament() template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %s %s" aria-hidden="true">%s</svg>`, At(d.Width), At(d.Height),
		d.body.String())) //nolint:gosec // every text was escaped
}

// At writes a coordinate with one decimal.
func At(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(math.Round(x*10)/10+0, 'f', 1, 64), ".0")
}

// TextWidth is about how wide a text of the page's figures is.
func TextWidth(text string) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljtfI.,:;'|!()[]· \u202f\u00a0", r):
			w += 3.4
		case strings.ContainsRune("mwMW@%", r):
			w += 9.2
		case r >= 'A' && r <= 'Z':
			w += 7.6
		default:
			w += 6.1
		}
	}
	return w * 1.1 // the fonts of some systems are wider
}
