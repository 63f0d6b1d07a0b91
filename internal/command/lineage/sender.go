package lineage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/report"
)

// The variables of OpenLineage's own clients that are understood.
const (
	urlVariable      = "OPENLINEAGE_URL"
	endpointVariable = "OPENLINEAGE_ENDPOINT"
	keyVariable      = "OPENLINEAGE_API_KEY"
	disabledVariable = "OPENLINEAGE_DISABLED"
)

// patience is the time that sending one event may take, and attempts the number of tries.
const (
	patience = 5 * time.Second
	attempts = 3
)

// Sender tells one run's story to a server or into a file. The nil Sender says nothing.
type Sender struct {
	story
	client *http.Client
	url    string // "" where events go to a file
	key    string
	file   *os.File
	at     time.Time // when the run began or, later, spent its budget
	events chan event
	done   chan error // the first error, once all events were sent
}

// New makes a sender for the address, a URL or the name of a file; where it is "", for what
// the environment says. It returns nil where there is nobody to tell.
func New(address string, getenv func(string) (string, bool), version string) (*Sender, error) {
	s := &Sender{story: story{version: version}, events: make(chan event, 4), done: make(chan error, 1)}
	if address == "" {
		if off, _ := getenv(disabledVariable); strings.EqualFold(off, "true") {
			return nil, nil
		}
		if address, _ = getenv(urlVariable); address == "" {
			return nil, nil
		}
		if !strings.Contains(address, "://") {
			return nil, fmt.Errorf("%s: is no http or https address", urlVariable)
		}
	}
	if !strings.Contains(address, "://") {
		f, err := os.OpenFile(address, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("the file for lineage events cannot be opened: %w", err)
		}
		s.file = f
	} else {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("the address for lineage events is no http or https address") // it may hold a password
		}
		endpoint, ok := getenv(endpointVariable)
		if !ok {
			endpoint = "api/v1/lineage"
		}
		s.url = u.JoinPath(endpoint).String()
		s.key, _ = getenv(keyVariable)
		s.client = &http.Client{Timeout: patience}
	}
	go s.work()
	return s, nil
}

// Start sends the event that the run of a job began.
func (s *Sender) Start(j *job.Job) {
	if s == nil {
		return
	}
	s.job, s.at = j, time.Now()
	s.events <- s.event("START", s.at, privacyLoss{})
}

// Debited notes that the budget is spent now. From here on the time tells nothing of the
// table: it is that of the debit (P19).
func (s *Sender) Debited() {
	if s != nil {
		s.at = time.Now()
	}
}

// Complete sends the event that the releases are there.
func (s *Sender) Complete(dir string, rep *report.Report) {
	if s == nil {
		return
	}
	s.events <- s.released(s.at, dir, rep)
}

// Fail sends the event that the run made no release, with the fixed word of the failure.
// Once the budget may be spent, only a file is told: that a run failed then, and when, can
// depend on the table.
func (s *Sender) Fail(code, spent string, before bool) {
	if s == nil || !before && s.file == nil {
		return
	}
	s.events <- s.event("FAIL", s.at, privacyLoss{Code: code, Spent: spent})
}

// Close waits until all events are sent, and says what could not be.
func (s *Sender) Close() error {
	if s == nil {
		return nil
	}
	close(s.events)
	return <-s.done
}

func (s *Sender) work() {
	var first error
	for e := range s.events {
		if first == nil { // a server that does not answer is not asked again
			first = guard.Do(func() error { return s.send(e) })
		}
	}
	if s.file != nil {
		if err := s.file.Close(); first == nil {
			first = err
		}
	}
	s.done <- first
}

func (s *Sender) send(e event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if s.file != nil {
		_, err := s.file.Write(append(text, '\n'))
		return err
	}
	for range attempts {
		var again bool
		if again, err = s.post(text); !again {
			return err
		}
	}
	return err
}

func (s *Sender) post(text []byte) (again bool, err error) {
	r, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(text))
	if err != nil {
		return false, errors.New("the request could not be made")
	}
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return false, errors.New("the server cannot be reached")
	}
	answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	return answer.StatusCode >= 500 && answer.StatusCode <= 504, fmt.Errorf("the server answered with status %d", answer.StatusCode)
}
