package report

// Publication is what a page says of itself: words, which nothing depends on.
type Publication struct {
	Title     string `json:"title,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	Period    string `json:"period,omitempty"`   // what time the figures are about
	Contact   string `json:"contact,omitempty"`  // whom to ask
	Language  string `json:"language,omitempty"` // of the page, en where there is none
	// What only a person knows of a publication, for the registry of deployments.
	Published     string   `json:"published,omitempty"` // the day, as 2026-10-31
	IntendedUse   string   `json:"intended_use,omitempty"`
	Region        string   `json:"region,omitempty"`
	Sector        string   `json:"sector,omitempty"`
	Sources       []string `json:"sources,omitempty"`
	Justification string   `json:"justification,omitempty"`
}
