package prose

import "strings"

// Fill lays paragraphs out anew: lines that follow each other are one text. What is
// indented stays as it is.
func Fill(text string, columns int) string {
	w := wrapper{columns: columns}
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			w.out.WriteString("\n\n")
		}
		body := strings.TrimRight(paragraph, "\n")
		if strings.HasPrefix(body, " ") || strings.Contains(body, "\n ") || strings.Contains(body, "\t") {
			w.out.WriteString(paragraph)
			continue
		}
		w.words("", -step, body)
		w.out.WriteString(paragraph[len(body):])
	}
	return w.out.String()
}
