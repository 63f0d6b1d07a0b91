package units

// tableShare is the part of a memory limit that tables of units take. The rest is for results.
func tableShare(memory int64) int64 { return memory / 4 * 3 }

// makeRoom spills the units where those of the next chunk might not fit.
func (f *Folder) makeRoom() error {
	limit := tableShare(f.spec.Memory)
	need, grows := f.set.wants()
	for i := range f.tally {
		need += f.tally[i].bytes()
	}
	if !grows || need <= limit {
		return nil
	}
	if err := f.spill(); err != nil {
		return err
	}
	if need, _ = f.set.wants(); need > limit {
		f.set.free() // the memory is in the wrong places
	}
	return nil
}

// spill writes all units to the disk and forgets them.
func (f *Folder) spill() (err error) {
	if f.disk == nil {
		if f.disk, err = newScratch(f.spec.Dir); err != nil {
			return err
		}
		f.parts = make([]partition, shards)
	}
	record := make([]uint64, f.width)
	var counts []uint64
	for i := range f.parts {
		p, s, t := &f.parts[i], &f.set.shards[i], &f.tally[i]
		p.disk = f.disk
		for n := range uint32(s.records.count) {
			copy(record, s.records.at(n))
			var text []byte
			if f.set.keys.text && record[firstWord]&ownUnit == 0 {
				text = s.texts.at(record[keyWord])
			}
			counts = counts[:0]
			for c := range f.folds {
				if cell := &f.folds[c]; cell.op == opMode {
					before := len(counts)
					counts = t.list(record[cell.at], counts)
					record[cell.at] = uint64(len(counts)-before) / 2
				}
			}
			if err := p.writeUnit(f.set.keys, record, text); err != nil {
				return err
			}
			if err := p.writeWords(counts...); err != nil {
				return err
			}
			p.extra += int64(len(counts)) / 2 * (talliedBytes + 12)
		}
		s.reset()
		f.tally[i] = tally{}
		if err := p.end(); err != nil {
			return err
		}
	}
	return nil
}

// follow copies the counts that follow a spilled unit.
func (f *Folder) follow(from *partReader, to *partition, record []uint64) error {
	return f.counts(from, record, func(_ int, code, n uint64) error {
		to.extra += talliedBytes + 12
		return to.writeWords(code, n)
	})
}

// counts reads the counts that follow a spilled unit.
func (f *Folder) counts(from *partReader, record []uint64, visit func(fold int, code, n uint64) error) error {
	for c := range f.folds {
		if f.folds[c].op != opMode {
			continue
		}
		for range record[f.folds[c].at] {
			var pair [2]uint64
			if err := from.words(pair[:]); err != nil {
				return err
			}
			if err := visit(c, pair[0], pair[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle combines the units of a partition, and returns their results as one sorted partition, or as several where it
// had to be divided.
func (f *Folder) settle(p *partition, depth int) (runs []partition, err error) {
	k := f.set.keys
	if p.records == 0 {
		return nil, nil
	}
	if p.records > 1 && depth < deepest && !p.fits(f.width, tableShare(f.spec.Memory)) {
		parts, err := p.divide(k, f.width, depth, f.follow)
		if err != nil {
			return nil, err
		}
		for i := range parts {
			more, err := f.settle(&parts[i], depth+1)
			if err != nil {
				return nil, err
			}
			runs = append(runs, more...)
		}
		return runs, nil
	}
	s, t := &f.set.shards[0], &f.tally[0] // the memory of one shard serves all partitions in turn
	s.reset()
	*t = tally{}
	s.reserve(k, int(p.records))
	r, u := p.reader(spillBuffer), spilled{record: make([]uint64, f.width)}
	for range p.records {
		if err := r.readUnit(k, &u); err != nil {
			return nil, err
		}
		n := s.findSpilled(k, &u)
		record := s.records.at(n)
		for _, at := range f.passed {
			if at > 0 {
				record[at] |= u.record[at]
			}
		}
		for c := range f.folds {
			cell := &f.folds[c]
			cell.combine(record[cell.at:], u.record[cell.at:])
		}
		err := f.counts(r, u.record, func(fold int, code, count uint64) error {
			t.add(k, n, uint32(fold), int32(code), count, &record[f.folds[fold].at])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	run := partition{disk: f.disk}
	results, out := &foldedShard{folder: f, unit: s, tally: t}, make([]uint64, f.results())
	for range s.records.count {
		results.next(out)
		if err := run.writeWords(out...); err != nil {
			return nil, err
		}
	}
	return []partition{run}, run.end()
}

// spilledResults is a stream of results that were written down.
type spilledResults struct {
	r      *partReader
	record []uint64
	have   bool
}

func (s *spilledResults) peek() (int64, error) {
	if !s.have {
		more, err := s.r.more()
		if err != nil || !more {
			return ended, err
		}
		if err := s.r.words(s.record); err != nil {
			return 0, err
		}
		s.have = true
	}
	return int64(s.record[0]), nil
}

func (s *spilledResults) next(out []uint64) {
	copy(out, s.record)
	s.have = false
}

// streams returns the results of all units.
func (f *Folder) streams() ([]stream, error) {
	var all []stream
	if f.disk == nil {
		for i := range f.tally {
			all = append(all, &foldedShard{folder: f, unit: &f.set.shards[i], tally: &f.tally[i]})
		}
		return all, nil
	}
	if err := f.spill(); err != nil {
		return nil, err
	}
	f.set.free()
	var runs []partition
	for i := range f.parts {
		more, err := f.settle(&f.parts[i], 1)
		if err != nil {
			return nil, err
		}
		runs = append(runs, more...)
	}
	f.set.free()
	f.tally[0] = tally{}
	buffer := max(1<<12, min(1<<18, int(f.spec.Memory/8)/max(1, len(runs))))
	for i := range runs {
		all = append(all, &spilledResults{r: runs[i].reader(buffer), record: make([]uint64, f.results())})
	}
	return all, nil
}
