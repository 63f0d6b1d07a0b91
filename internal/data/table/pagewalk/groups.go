package pagewalk

// readGroups reads the list of row groups. The schema comes before it in the footer, because field numbers rise. Each
// chunk must fit the leaf at its position: decoders go by position, and would read a chunk of another column as this one.
func (f *Footer) readGroups(c *compact, typ byte, end int64) error {
	n := c.list(typ, wireStruct)
	if c.err != nil {
		return corrupt("the list of row groups does not fit its footer")
	}
	if n > maxGroups {
		return tooBig("more than %d row groups", maxGroups)
	}
	if len(f.Leaves) > 0 && n > maxChunks/len(f.Leaves) {
		return tooBig("more than %d column chunks", maxChunks)
	}
	f.Groups = make([]Group, 0, min(n, 1024))
	for i := 0; i < n; i++ {
		f.Groups = append(f.Groups, f.readGroup(c, i, end))
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

func (f *Footer) readGroup(c *compact, index int, end int64) (g Group) {
	chunks := func(typ byte) {
		if c.list(typ, wireStruct) != len(f.Leaves) {
			c.refuse(corrupt("row group %d does not have one chunk for each column", index))
			return
		}
		for i := range f.Leaves {
			g.Chunks = append(g.Chunks, readChunk(c, &f.Leaves[i]))
		}
	}
	has := c.object(places{1: chunks, 3: &g.Rows})
	if !has.all(1, 3) {
		c.fail()
	}
	c.explain("row group %d cannot be read", index)
	if g.Rows < 0 {
		c.refuse(corrupt("row group %d declares a negative number of rows", index))
	}
	for i := range g.Chunks {
		if c.err == nil {
			c.err = g.Chunks[i].check(&f.Leaves[i], g.Rows, end)
		}
	}
	return g
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

func readChunk(c *compact, leaf *Leaf) (k Chunk) {
	encrypted := func(byte) { c.refuse(unsupported("column %s: encrypted", leaf)) }
	has := c.object(places{
		1: func(typ byte) {
			if len(c.binary(typ)) > 0 {
				c.refuse(unsupported("column %s: its data is in another file", leaf))
			}
		},
		3: func(typ byte) { k = readChunkMeta(c, typ, leaf) },
		8: encrypted, 9: encrypted,
	})
	if !has.all(3) {
		c.fail()
	}
	c.explain("column %s: the description of a chunk cannot be read", leaf)
	return k
}

func readChunkMeta(c *compact, typ byte, leaf *Leaf) (k Chunk) {
	var dict int64
	has := c.structure(typ, places{
		1: func(typ byte) {
			if Type(c.i32(typ)) != leaf.Type {
				c.refuse(corrupt("column %s: the physical type of a chunk is not the schema's", leaf))
			}
		},
		2: func(typ byte) {
			for n := c.list(typ, wireI32); n > 0 && c.err == nil; n-- {
				if e := c.zigzag(); e >= 0 && e < 16 {
					k.Encodings |= 1 << e
				}
			}
		},
		3: func(typ byte) {
			if !c.samePath(typ, leaf.Path) {
				c.refuse(corrupt("column %s: a chunk at its position belongs to another column", leaf))
			}
		},
		4: &k.Codec, 5: &k.Values, 7: &k.Len, 9: &k.DataPage, 11: &dict,
	})
	if !has.all(1, 2, 3, 4, 5, 7, 9) {
		c.fail()
	}
	c.explain("column %s: the description of a chunk is incomplete", leaf)
	k.Start = k.DataPage
	if dict > 0 && dict < k.DataPage {
		k.Start, k.HasDict = dict, true
	}
	return k
}

func (c *compact) samePath(typ byte, path []string) bool {
	n := c.list(typ, wireBinary)
	same := n == len(path)
	for i := 0; i < n && c.err == nil; i++ {
		part := c.bytes(c.uvarint())
		same = same && string(part) == path[i]
	}
	return same
}
