package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// trips is a table of persons with many rows, invented from a fixed seed, and its public
// list of zones. Few persons make most of the trips, as in real tables.
func trips() (table, zones []byte) {
	rng := rand.New(rand.NewPCG(2026, 7))
	boroughs := []string{"Bronx", "Brooklyn", "Manhattan", "Queens", "Staten Island"}
	var z, t bytes.Buffer
	z.WriteString("zone,borough,airport\n")
	const zoneCount = 40
	for zone := range zoneCount {
		airport := "no"
		if zone%13 == 12 {
			airport = "yes"
		}
		fmt.Fprintf(&z, "%d,%s,%s\n", zone+1, boroughs[zone*5/zoneCount], airport)
	}
	t.WriteString("person,age,town,started,month,zone,miles,hours,fare\n")
	first := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	for person := range 900 {
		age := 16 + rng.IntN(70)
		town := "Town " + strconv.Itoa(1+int(math.Floor(math.Pow(rng.Float64(), 2.5)*60)))
		home := rng.IntN(zoneCount)
		for range 1 + int(rng.ExpFloat64()*3.2) {
			day := first.AddDate(0, 0, rng.IntN(92))
			zone := home
			if rng.IntN(3) == 0 {
				zone = rng.IntN(zoneCount)
			}
			miles := math.Round(100*math.Exp(0.8*rng.NormFloat64()+0.9)) / 100
			hours := math.Round(1000*miles/(8+14*rng.Float64())) / 1000
			fare := strconv.FormatFloat(math.Round(100*(3+2.4*miles+12*hours))/100, 'f', 2, 64)
			if rng.IntN(50) == 0 {
				fare = "" // not recorded
			}
			fmt.Fprintf(&t, "P%04d,%d,%s,%s,%s,%d,%g,%g,%s\n", person, age, town, day.Format(time.DateOnly), day.Format("2006-01"), zone+1,
				miles, hours, fare)
		}
	}
	return t.Bytes(), z.Bytes()
}
