package design

import (
	"embed"
	"sync"

	"github.com/dprelease/dprelease/internal/say/sentence"
)

//go:embed texts/*.yaml
var textFiles embed.FS

// words are the texts of the page in one language.
type words struct{ *sentence.Words }

var catalogues = sync.OnceValue(func() map[string]*words {
	out := map[string]*words{}
	for _, name := range sentence.Languages {
		out[name] = &words{sentence.Read(textFiles, name)}
	}
	return out
})
