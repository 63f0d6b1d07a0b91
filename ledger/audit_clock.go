package ledger

import "errors"

// Turns are the acts by which clocks were accepted, as far as the chain was replayed.
func (v *Auditor) Turns() []Turn { return v.turns }

// clock is the one record whose time may be before that of the record before it.
func (v *Auditor) clock(r *Record) error {
	var b clockBody
	if decode(r.Body, &b) != nil {
		return errors.New("its text cannot be read as a clock")
	}
	at, err := parseTime(b.At)
	was, err2 := parseTime(b.Was)
	switch {
	case err != nil || err2 != nil:
		return errors.New("it has no time")
	case was != v.at:
		return errors.New("it passes over another time than that of the record before it")
	case at >= was:
		return errors.New("a clock is accepted that was not behind")
	case b.By == "" || b.Reason == "":
		return errors.New("a clock is accepted without a name and a reason")
	}
	v.at = at
	v.turns = append(v.turns, b.turn(r.Seq))
	return nil
}
