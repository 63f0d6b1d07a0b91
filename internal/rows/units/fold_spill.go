package units

// tableShare returns the part of a memory limit for units. The rest is for results.
func tableShare(memory int64) int64 { return memory / 4 * 3 }

// makeRoom spills the units where those of the next chunk might not fit.
func (f *Folder) makeRoom() error {
	counts := int64(0)
	for i := range f.tally {
		counts += f.tally[i].bytes()
	}
	return f.overflow.makeRoom(counts, f.spill)
}

// spill writes all units to the disk, each with its counts, and forgets them.
func (f *Folder) spill() error {
	var counts []uint64
	err := f.overflow.spill(func(shard int, p *partition, record []uint64, text []byte) error {
		counts = counts[:0]
		for c := range f.folds {
			if cell := &f.folds[c]; cell.op == opMode {
				before := len(counts)
				counts = f.tally[shard].list(record[cell.at], counts)
				record[cell.at] = uint64(len(counts)-before) / 2
			}
		}
		p.extra += int64(len(counts)) / 2 * (talliedBytes + 12)
		if err := p.writeUnit(f.set.keys, record, text); err != nil {
			return err
		}
		return p.writeWords(counts...)
	})
	f.tally = [shards]tally{}
	return err
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

// combine adds up what was spilled of the units of a partition, and writes their results.
func (f *Folder) combine(p, to *partition, s *unitShard) error {
	t := &f.tally[0]
	*t = tally{}
	r, u := p.reader(spillBuffer), spilled{record: make([]uint64, f.width)}
	for range p.records {
		if err := r.readUnit(f.set.keys, &u); err != nil {
			return err
		}
		n := s.findSpilled(f.set.keys, &u)
		record := s.records.at(n)
		for _, at := range f.passed[1:] {
			record[at] |= u.record[at]
		}
		for c := range f.folds {
			cell := &f.folds[c]
			cell.combine(record[cell.at:], u.record[cell.at:])
		}
		err := f.counts(r, u.record, func(fold int, code, count uint64) error {
			t.add(f.set.keys, n, uint32(fold), int32(code), count, &record[f.folds[fold].at])
			return nil
		})
		if err != nil {
			return err
		}
	}
	results, out := &foldedShard{folder: f, unit: s, tally: t}, make([]uint64, f.results())
	for range s.records.count {
		results.next(out)
		if err := to.writeWords(out...); err != nil {
			return err
		}
	}
	return nil
}

// spilledResults is a stream of records of a partition.
type spilledResults struct {
	r      *partReader
	record []uint64
	have   bool
}

func (s *spilledResults) peek() (int64, error) {
	if !s.have {
		more, err := s.r.More()
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

// streams returns the results of all units as sorted streams.
func (f *Folder) streams() ([]stream, error) {
	var all []stream
	if f.disk == nil {
		for i := range f.tally {
			all = append(all, &foldedShard{folder: f, unit: &f.set.shards[i], tally: &f.tally[i], shard: i})
		}
		return all, nil
	}
	if err := f.spill(); err != nil {
		return nil, err
	}
	runs, err := f.overflow.settle(f.follow, f.combine)
	if err != nil {
		return nil, err
	}
	f.tally[0] = tally{}
	buffer := max(1<<12, min(1<<18, int(f.spec.Memory/8)/max(1, len(runs))))
	for i := range runs {
		all = append(all, &spilledResults{r: runs[i].reader(buffer), record: make([]uint64, f.results())})
	}
	return all, nil
}
