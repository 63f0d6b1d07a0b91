package report

import (
	"html/template"
	"io"
)

// frame is a page around a body. It has the style of the report, and asks for nothing.
var frame = template.Must(template.New("document").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
{{.Body}}
</body>
</html>
`))

// Document writes a self-contained page in the style of the report.
func Document(w io.Writer, title string, body template.HTML) error {
	return frame.Execute(w, map[string]any{"Policy": policy(), "Title": title, "Style": template.CSS(pageStyle), "Body": body}) //nolint:gosec // the style sheet is embedded, and a template wrote the body
}
