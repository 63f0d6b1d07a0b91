package address

import (
	"io"
	"regexp"
	"strings"
	"sync"
)

// hidden stands in the place of a credential.
const hidden = "[REDACTED]"

// secrets find what is secret in an address. They are compiled when the first text is looked at.
var secrets = sync.OnceValue(func() (s struct{ holder, option, word *regexp.Regexp }) {
	// holder matches the text before the host of an address: KEY:SECRET@ or USER@. A secret may hold slashes, and an address that
	// is known by its scheme may have lost its own.
	s.holder = regexp.MustCompile(
		`(?i)([a-z][a-z0-9+.-]*://+|\b(?:s3|gs|azblob|postgres|postgresql|https?):/?)([^/?#\s"':]*:[^?#\s"']*|[^/?#\s"']*)@`)
	// option is an option of an address that holds a credential.
	s.option = regexp.MustCompile(`(?i)([?&;])([a-z0-9_.-]*(?:key|secret|token|passw|sas|sig|credential)[a-z0-9_.-]*)=([^&\s"']+)`)
	// word is the password of an address in words, such as host=db password=….
	s.word = regexp.MustCompile(`(?i)\b((?:ssl)?password|passwd|passphrase|pwd)(\s*=\s*)('(?:[^'\\]|\\.)*'?|"[^"]*"?|[^\s"'&]+)`)
	return s
})

// Hide returns a text in which [REDACTED] stands in the place of every credential in an address.
func Hide(text string) string {
	if !strings.ContainsAny(text, "@?=") {
		return text
	}
	text = secrets().holder.ReplaceAllString(text, "${1}"+hidden+"@")
	text = secrets().word.ReplaceAllString(text, "${1}${2}"+hidden)
	return secrets().option.ReplaceAllStringFunc(text, func(all string) string {
		m := secrets().option.FindStringSubmatch(all)
		if strings.EqualFold(m[2], "kmskeyid") {
			return all
		}
		return m[1] + m[2] + "=" + hidden
	})
}

// Credential reports whether an address holds a credential.
func Credential(text string) bool { return Hide(text) != text }

// Hiding is a writer that hides the credentials of some texts in what goes through it.
type Hiding struct {
	to     io.Writer
	hidden *strings.Replacer
}

// HidingOf returns a writer that hides the credentials that the texts hold, wherever they come
// up, or to itself where they hold none. Each message is one write.
func HidingOf(to io.Writer, texts []string) io.Writer {
	var pairs []string
	add := func(secret string) {
		if len(secret) > 2 {
			pairs = append(pairs, secret, hidden)
		}
	}
	for _, text := range texts {
		for _, m := range secrets().holder.FindAllStringSubmatch(text, -1) {
			add(m[2])
			user, password, _ := strings.Cut(m[2], ":")
			add(password)
			if password != "" && len(user) > 8 {
				add(user)
			}
		}
		for _, m := range secrets().word.FindAllStringSubmatch(text, -1) {
			add(strings.Trim(m[3], `'"`))
		}
		for _, m := range secrets().option.FindAllStringSubmatch(text, -1) {
			if !strings.EqualFold(m[2], "kmskeyid") {
				add(m[3])
			}
		}
	}
	if pairs == nil {
		return to
	}
	return &Hiding{to, strings.NewReplacer(pairs...)}
}

// Write writes p without the credentials.
func (h *Hiding) Write(p []byte) (int, error) {
	if _, err := h.hidden.WriteString(h.to, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
