package report

// Publication is what a page says of itself: words, which nothing depends on.
type Publication struct {
	Title     string `json:"title,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	Period    string `json:"period,omitempty"`   // what time the figures are about
	Contact   string `json:"contact,omitempty"`  // whom to ask
	Language  string `json:"language,omitempty"` // of the page, en where there is none
}
