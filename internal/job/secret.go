package job

import "log/slog"

// Secret is a text that must not be printed, such as a ledger's address with a
// password in it. Every way of printing it gives [REDACTED].
type Secret struct{ text string }

const redacted = "[REDACTED]"

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text, for the one place that needs it.
func (s Secret) Reveal() string { return s.text }

// Empty reports whether there is no text.
func (s Secret) Empty() bool { return s.text == "" }

// String prints [REDACTED].
func (s Secret) String() string { return redacted }

// GoString prints [REDACTED].
func (s Secret) GoString() string { return redacted }

// MarshalText writes [REDACTED].
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue logs [REDACTED].
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
