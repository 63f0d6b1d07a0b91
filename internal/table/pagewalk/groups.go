package pagewalk

// readGroups reads the list of row groups. The schema comes before it in the footer (fields rise), so each chunk is
// compared with the leaf at its position: decoders bind by position, and a chunk of another type or column there
// would be read as something it is not.
func (f *Footer) readGroups(c *compact, typ byte, end int64, lim Limits) error {
	n := c.list(typ, wireStruct)
	if c.bad {
		return corrupt("the list of row groups does not fit its footer")
	}
	if n > lim.Groups {
		return tooBig("more than %d row groups", lim.Groups)
	}
	if len(f.Leaves) > 0 && n > lim.Chunks/len(f.Leaves) {
		return tooBig("more than %d column chunks", lim.Chunks)
	}
	f.Groups = make([]Group, 0, min(n, 1024))
	for i := 0; i < n; i++ {
		g, err := f.readGroup(c, i, end)
		if err != nil {
			return err
		}
		f.Groups = append(f.Groups, g)
	}
	return nil
}

func (f *Footer) readGroup(c *compact, index int, end int64) (Group, error) {
	var (
		g   Group
		err error
		has int
	)
	c.object(func(id int, typ byte) {
		if err != nil {
			c.fail()
			return
		}
		has |= 1 << min(id, 16)
		switch id {
		case 1:
			n := c.list(typ, wireStruct)
			if n != len(f.Leaves) {
				err = corrupt("row group %d does not have one chunk for each column", index)
				return
			}
			g.Chunks = make([]Chunk, n)
			for i := range g.Chunks {
				if g.Chunks[i], err = readChunk(c, &f.Leaves[i]); err != nil {
					return
				}
			}
		case 3:
			g.Rows = c.i64(typ)
		default:
			c.skip(typ)
		}
	})
	switch {
	case err != nil:
		return g, err
	case c.bad || has&(1<<1|1<<3) != 1<<1|1<<3:
		return g, corrupt("row group %d cannot be read", index)
	case g.Rows < 0:
		return g, corrupt("row group %d declares a negative number of rows", index)
	}
	for i := range g.Chunks {
		if err := g.Chunks[i].check(&f.Leaves[i], g.Rows, end); err != nil {
			return g, err
		}
	}
	return g, nil
}

func (k *Chunk) check(leaf *Leaf, rows, end int64) error {
	switch {
	case leaf.MaxRep == 0 && k.Values != rows:
		return corrupt("column %s: a chunk does not hold one value for each row of its group", leaf)
	case k.Values < 0 || leaf.MaxRep > 0 && k.Values < rows:
		return corrupt("column %s: a chunk holds fewer values than its group has rows", leaf)
	case k.Values == 0:
		return nil // an empty chunk has no pages, and its offsets mean nothing
	case k.Start < int64(len(magic)) || k.Len <= 0 || k.Start > end || k.Len > end-k.Start:
		return corrupt("column %s: a chunk lies outside the file", leaf)
	}
	return nil
}

func readChunk(c *compact, leaf *Leaf) (Chunk, error) {
	var (
		k    Chunk
		err  error
		meta bool
	)
	c.object(func(id int, typ byte) {
		if err != nil {
			c.fail()
			return
		}
		switch id {
		case 1:
			if len(c.binary(typ)) > 0 {
				err = unsupported("column %s: its data is in another file", leaf)
			}
		case 3:
			meta = true
			k, err = readChunkMeta(c, typ, leaf)
		case 8, 9:
			err = unsupported("column %s: encrypted", leaf)
		default:
			c.skip(typ)
		}
	})
	if err == nil && (c.bad || !meta) {
		err = corrupt("column %s: the description of a chunk cannot be read", leaf)
	}
	return k, err
}

func readChunkMeta(c *compact, typ byte, leaf *Leaf) (Chunk, error) {
	var (
		k    Chunk
		err  error
		has  int
		dict int64
	)
	c.structField(typ, func(id int, typ byte) {
		has |= 1 << min(id, 16)
		switch id {
		case 1:
			if Type(c.i32(typ)) != leaf.Type {
				err = corrupt("column %s: the physical type of a chunk is not the schema's", leaf)
				c.fail()
			}
		case 2:
			for n := c.list(typ, wireI32); n > 0 && !c.bad; n-- {
				if e := c.zigzag(); e >= 0 && e < 16 {
					k.Encodings |= 1 << e
				}
			}
		case 3:
			if !c.samePath(typ, leaf.Path) && !c.bad {
				err = corrupt("column %s: a chunk at its position belongs to another column", leaf)
				c.fail()
			}
		case 4:
			v := c.i32(typ)
			if v < 0 || v > 127 {
				v = 127
			}
			k.Codec = int8(v)
		case 5:
			k.Values = c.i64(typ)
		case 7:
			k.Len = c.i64(typ)
		case 9:
			k.DataPage = c.i64(typ)
		case 11:
			dict = c.i64(typ)
		default:
			c.skip(typ)
		}
	})
	const needed = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<7 | 1<<9
	if err == nil && (c.bad || has&needed != needed) {
		err = corrupt("column %s: the description of a chunk is incomplete", leaf)
	}
	k.Start = k.DataPage
	if dict > 0 && dict < k.DataPage {
		k.Start, k.HasDict = dict, true
	}
	return k, err
}

func (c *compact) samePath(typ byte, path []string) bool {
	n := c.list(typ, wireBinary)
	same := n == len(path)
	for i := 0; i < n && !c.bad; i++ {
		part := c.bytes(c.uvarint())
		same = same && string(part) == path[i]
	}
	return same
}
