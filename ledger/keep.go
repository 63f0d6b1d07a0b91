package ledger

// drawsOf is what a debit's record says of its kept samples.
func drawsOf(q *Request, uses []*Use) ([]Draw, error) {
	var out []Draw
	for i, u := range uses {
		step := q.Draws[i]
		d := Draw{Sample: u.Sample, ChargedEpsilon: u.ChargedAfter.Epsilon.RatString(), ChargedDelta: u.ChargedAfter.Delta.RatString(), Cost: ratTexts(u.Cost)}
		d.Epsilon, d.Delta = u.step()
		if step.New != nil {
			var err error
			if d.Event, err = eventText(step.New.Event); err != nil {
				return nil, err
			}
			d.Name, d.Design, d.Collected = step.New.Name, step.New.Design, step.New.Collected
		}
		out = append(out, d)
	}
	return out, nil
}

// step is what a use adds on the sample.
func (u *Use) step() (epsilon, delta string) {
	d := Limit{Epsilon: zero().Epsilon.Sub(u.After.Epsilon, u.Before.Epsilon), Delta: zero().Delta.Sub(u.After.Delta, u.Before.Delta)}
	return d.Epsilon.RatString(), d.Delta.RatString()
}

// use makes the uses of a debit part of the samples' sums.
func (t *tx) use(account, debit int64, draws []Draw, uses []*Use) error {
	for i, u := range uses {
		spent, charged := u.After, u.ChargedAfter
		amounts := []any{spent.Epsilon.RatString(), spent.Delta.RatString(), charged.Epsilon.RatString(), charged.Delta.RatString()}
		var err error
		if d := draws[i]; d.Event != "" {
			var content any // none until the rows are stored
			if d.Collected {
				content = ""
			}
			err = t.exec("INSERT INTO dprelease_samples (id, account, debit, name, event, design, content, uses, spent_epsilon, spent_delta, charged_epsilon, charged_delta) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)",
				append([]any{u.Sample, account, debit, d.Name, d.Event, d.Design, content}, amounts...)...)
		} else {
			err = t.exec("UPDATE dprelease_samples SET uses = uses + 1, spent_epsilon = ?, spent_delta = ?, charged_epsilon = ?, charged_delta = ? WHERE id = ?",
				append(amounts, u.Sample)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep stores the rows of the samples that a release keeps, encrypted.
func (t *tx) keep(k *Ticket, kept []Rows) ([]sealedRows, error) {
	given := map[string]Rows{}
	for _, r := range kept {
		given[r.Sample] = r
	}
	if len(given) != len(kept) || len(kept) != len(k.keeps) {
		return nil, refuse(CodeSample, "the rows of the samples that this release keeps were not given")
	}
	var out []sealedRows
	for _, id := range k.keeps {
		s, err := t.sample(id)
		if err != nil {
			return nil, err
		}
		r, ok := given[id]
		if s == nil || s.Debit != k.Release || !ok || r.Content == "" {
			return nil, refuse(CodeSample, "the rows of sample %s were not given", id)
		}
		s.Content = r.Content
		sealed, err := t.l.conceal(s, r.Data)
		if err != nil {
			return nil, err
		}
		sum := digestOf(sealed)
		if err := t.exec("UPDATE dprelease_samples SET content = ?, digest = ?, sealed = ? WHERE id = ?", s.Content, sum, sealed, s.ID); err != nil {
			return nil, err
		}
		out = append(out, sealedRows{Sample: s.ID, Content: s.Content, SHA256: sum})
	}
	return out, nil
}
