package series

// A Range holds the periods From, From+1, …, To−1.
type Range struct{ From, To int }

// Each returns a row for each period.
func Each(kind string, periods int) []Row {
	rows := make([]Row, periods)
	for t := range rows {
		rows[t] = sum(kind, Range{t, t + 1})
	}
	return rows
}

// Sums returns the total of each range, such as the quarters of a series of months.
func Sums(kind string, ranges ...Range) []Row {
	rows := make([]Row, len(ranges))
	for i, r := range ranges {
		rows[i] = sum(kind, r)
	}
	return rows
}

// ToDate returns, for each period of each range, the total from the start of the range to
// that period: year to date, or the running total where one range holds all periods.
func ToDate(kind string, ranges ...Range) (rows []Row) {
	for _, r := range ranges {
		for t := r.From; t < r.To; t++ {
			rows = append(rows, sum(kind, Range{r.From, t + 1}))
		}
	}
	return rows
}

// Rolling returns the total of each n periods in a row.
func Rolling(kind string, periods, n int) (rows []Row) {
	for t := n; t <= periods; t++ {
		rows = append(rows, sum(kind, Range{t - n, t}))
	}
	return rows
}

// Change returns what each period has more than the one n periods before.
func Change(kind string, periods, n int) (rows []Row) {
	for t := n; t < periods; t++ {
		rows = append(rows, Row{Kind: kind, Period: t, Terms: []Term{{t - n, -1}, {t, 1}}, Weight: 1})
	}
	return rows
}

// Weigh returns the rows with another weight.
func Weigh(weight float64, rows []Row) []Row {
	weighed := append([]Row(nil), rows...)
	for i := range weighed {
		weighed[i].Weight = weight
	}
	return weighed
}

// sum returns the row that adds up a range.
func sum(kind string, r Range) Row {
	row := Row{Kind: kind, Period: r.To - 1, Weight: 1}
	for t := r.From; t < r.To; t++ {
		row.Terms = append(row.Terms, Term{t, 1})
	}
	return row
}
