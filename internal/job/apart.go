package job

import (
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// The capabilities of a job.
var (
	hasAddRemove, hasReplaceOne = related(privacy.AddRemove), related(privacy.ReplaceOne)

	hasSize, hasAtLeast = keyed("dataset.size"), keyed("dataset.at_least")
	hasSlice            = keyed("dataset.slice")
	hasCollection       = keyed("dataset.collected")
	hasEachSliceDrawn   = keyed("dataset.collected.each_slice")
	hasLifetime         = keyed("budget.lifetime")
	hasFrame            = keyed("dataset.frame")
	hasSurveyWeights    = keyed("dataset.weights")
	hasBudgetSpend      = keyed("budget.spend")
	hasOtherMachines    = keyed("engine")
	hasAnySeries        = &capability{name: "a series", key: "series", schema: hasKey([]string{"series"}),
		has: func(b *bearer) bool { return len(b.j.Series) > 0 }}
	hasSeveralTables      = keyed("dataset.tables")
	hasPopulation         = keyed("dataset.population")
	hasMembers, hasGroups = keyed("dataset.unit.members"), keyed("dataset.unit.groups")
	hasMembersTable       = keyed("dataset.unit.members.table")
	hasLimitRho           = keyed("budget.limit.rho")
	hasLifetimeRho        = keyed("budget.lifetime.rho")
	hasAnySample          = wholeJob("a sample", "samples", func(b *bearer) bool { return len(b.j.Samples) > 0 })
	hasTablesWithNoHome   = wholeJob("dataset.tables without dataset.population", "dataset.tables", func(b *bearer) bool {
		return len(b.d.Tables) > 0 && b.d.Population == ""
	})
	hasSecretSize = wholeJob("relation: add-remove without dataset.at_least", "dataset.relation", func(b *bearer) bool {
		return b.d.Relation == privacy.AddRemove && !b.said("dataset.at_least")
	})
	hasOneCollection = wholeJob("dataset.collected without each_slice", "dataset.collected", func(b *bearer) bool {
		return b.d.Collected != nil && !b.d.Collected.EachSlice && b.d.Collected.Method != Rotation
	})
	hasUnitColumn = wholeJob("dataset.unit.column", "dataset.unit", func(b *bearer) bool { return b.d.Key.Column != "" })
	hasOwnUnits   = wholeJob("missing: own for a unit", "dataset.unit.missing", func(b *bearer) bool {
		return b.d.Key.Missing == NoUnitOwn || slices.ContainsFunc(b.d.Tables, func(t DataTable) bool { return t.Key.Missing == NoUnitOwn })
	})
)

// collectedBy is a table that was collected by one of some methods.
func collectedBy(name, key string, has func(c *Collected, b *bearer) bool) *capability {
	return wholeJob(name, key, func(b *bearer) bool { return b.d.Collected != nil && has(b.d.Collected, b) })
}

func collectedRates(b *bearer) bool { return b.said("dataset.collected.rates") }

var (
	hasCollectedFixed = collectedBy("a table collected by srswor", "dataset.collected", func(c *Collected, _ *bearer) bool {
		return c.Method == SRSWOR
	})
	hasCollectedOther = collectedBy("a table not collected by srswor", "dataset.collected", func(c *Collected, _ *bearer) bool {
		return c.Method != SRSWOR
	})
	hasCollectedTakes = collectedBy("a table collected by numbers to take", "dataset.collected", func(c *Collected, b *bearer) bool {
		return (c.Method == Stratified || c.Method == Multistage) && !collectedRates(b)
	})
	hasCollectedPoisson = collectedBy("a table collected by poisson", "dataset.collected", func(c *Collected, _ *bearer) bool {
		return c.Method == Poisson
	})
	hasCollectedByRates = collectedBy("a table collected by rates", "dataset.collected", func(c *Collected, b *bearer) bool {
		return c.Method != Poisson && collectedRates(b)
	})
	hasCollectedByStages = collectedBy("a table collected by multistage", "dataset.collected", func(c *Collected, _ *bearer) bool {
		return c.Method == Multistage
	})
	hasCollectedByParts = collectedBy("a table collected by strata or stages", "dataset.collected.method", func(c *Collected, _ *bearer) bool {
		return c.Method == Stratified || c.Method == Multistage
	})
	hasWave = collectedBy("a wave of a panel", "dataset.collected", func(c *Collected, _ *bearer) bool { return c.Method == Rotation })
)

// sampled is a sample of some kind.
func sampled(name, key string, has func(s *Sample, b *bearer) bool) *capability {
	return bears(ofSample, name, key, func(b *bearer) bool { return has(b.s, b) })
}

var (
	hasSrswor      = sampled("srswor", "method", func(s *Sample, _ *bearer) bool { return s.Method == SRSWOR })
	hasMultistaged = sampled("multistage", "", func(s *Sample, _ *bearer) bool { return s.Method == Multistage })
	hasInParts     = sampled("a stratified or multistage sample", "method", func(s *Sample, _ *bearer) bool {
		return s.Method == Multistage || s.Method == Stratified
	})
	hasStratumTakes = sampled("stratified with take", "", func(s *Sample, b *bearer) bool { return s.Method == Stratified && b.said("take") })
	hasStratumRates = sampled("rates", "rates", func(s *Sample, b *bearer) bool { return s.Method == Stratified && b.said("rates") })
	hasTakes        = sampled("take", "take", func(s *Sample, b *bearer) bool { return s.Method == Stratified && b.said("take") })
	hasRatesBySize  = sampled("rates_by_size", "rates_by_size", func(s *Sample, b *bearer) bool {
		return s.Method == Stratified && b.said("rates_by_size")
	})
	hasKeeps      = sampled("keep", "keep", func(s *Sample, _ *bearer) bool { return s.Keep })
	hasUsesKept   = sampled("method: kept", "method", func(s *Sample, _ *bearer) bool { return s.Method == Kept })
	hasKeptSample = sampled("a kept sample", "", func(s *Sample, _ *bearer) bool { return s.Keep || s.Method == Kept })
	hasPanel      = sampled("a panel that is drawn", "", func(s *Sample, _ *bearer) bool { return s.Method == Rotation })
)

// The capabilities of a table and of its columns.
var (
	hasDatabase = bears(ofTable, "a table in a database", "dataset.source.postgres", func(b *bearer) bool {
		return b.said("dataset.source.postgres")
	})
	hasQuery    = keyOf(ofTable, "dataset.source.query")
	hasUnitRows = bears(ofTable, "dataset.unit.rows", "dataset.unit.rows", func(b *bearer) bool {
		return b.said("dataset.unit.rows") && (b.d.Key.Rows > 0 || b.d.OneRow)
	})
	hasOneRow      = bears(ofTable, "a table with unit: {rows: 1}", "dataset.unit.rows", func(b *bearer) bool { return b.d.OneRow })
	hasFolded      = bears(ofTable, "dataset.fold", "dataset.fold", func(b *bearer) bool { return b.d.Folds() && !b.d.OneRow })
	hasFoldedOrOne = bears(ofTable, "dataset.fold", "dataset.fold", func(b *bearer) bool { return b.d.Folds() })
	hasCapped      = bears(ofTable, "dataset.cap", "dataset.cap", func(b *bearer) bool { return b.d.Cap != nil })
	hasCappedHome  = bears(ofTable, "dataset.cap", "dataset.cap", func(b *bearer) bool {
		return b.d.Cap != nil && !(b.d.MayVanish() && b.d.Population != "")
	})
	hasCapMeasured = bears(ofTable, "dataset.cap.measure", capMeasure, func(b *bearer) bool {
		return b.d.Cap != nil && b.d.Cap.Measure != nil
	})
	hasCapChosen = bears(ofTable, "a cap that is chosen in private", capChoice, func(b *bearer) bool {
		return b.d.Cap != nil && b.d.Cap.Choice != nil
	})
	hasOnePerUnit   = keyOf(ofColumn, "one_per_unit")
	hasSearched     = bears(ofColumn, "bounds that are found in private", "", func(b *bearer) bool { return b.c.Bounds != nil })
	hasFoundPrivate = bears(ofColumn, "a bound or a measure that is found in private", "", func(b *bearer) bool {
		return b.c.Bounds != nil || b.c.Measure != nil
	})
)

// The capabilities of a release.
var (
	hasHaving  = keyOf(ofRelease, "having")
	hasOwnCap  = keyOf(ofRelease, "cap")
	hasKeys    = bears(ofRelease, "keys", "keys", func(b *bearer) bool { return b.r.Keys != nil })
	hasSelects = bears(ofRelease, "keys", "keys", func(b *bearer) bool { return b.r.Keys != nil && b.r.Unlisted(b.d) != "" })
	hasCapKeys = bears(ofRelease, "keys under dataset.cap", "keys", func(b *bearer) bool {
		return b.d.Cap != nil && b.r.Keys != nil && b.r.Unlisted(b.d) != ""
	})
	hasOther        = bears(ofRelease, "other", "other", func(b *bearer) bool { return b.r.Other != "" })
	hasSuppressed   = bears(ofRelease, "suppress", "suppress", func(b *bearer) bool { return b.r.Suppress != nil })
	hasInterval     = bears(ofRelease, "interval", "interval", func(b *bearer) bool { return b.r.Interval != nil })
	hasOfTableNamed = keyOf(ofRelease, "table")
	hasShare        = keyOf(ofRelease, "weight")
	hasOwnPrice     = bears(ofRelease, "guarantee", "guarantee", func(b *bearer) bool {
		return b.j.Budget.Spend != nil && b.said("guarantee")
	})
	hasInSeries  = bears(ofRelease, "a series", "series", func(b *bearer) bool { return b.r.Series != "" && len(b.j.Series) > 0 })
	hasWithDelta = bears(ofRelease, "an epsilon with a delta", "guarantee", func(b *bearer) bool {
		g := b.r.Guarantee
		return !b.r.Shares && g.Rho == nil && g.Delta != nil && g.Delta.Sign() > 0
	})
	hasKeysOrOwn = bears(ofRelease, "rho", "guarantee", func(b *bearer) bool {
		return b.r.Guarantee.Rho != nil || b.r.Keys != nil && b.r.Keys.Guarantee.Rho != nil
	})
	hasKeysPrice   = bears(ofRelease, "keys.guarantee", "keys", func(b *bearer) bool { return b.said("keys.guarantee") })
	hasKeysFrom    = bears(ofRelease, "keys.from", "keys.from", func(b *bearer) bool { return b.r.Keys != nil && b.r.Keys.From != "" })
	hasKeysAtMost  = keyOf(ofRelease, "keys.at_most")
	hasKeysTop     = keyOf(ofRelease, "keys.top")
	hasSomeRho     = wholeJob("a guarantee in rho", "releases", func(b *bearer) bool { return slices.ContainsFunc(b.j.Releases, inRho) })
	hasSomeEpsilon = wholeJob("a guarantee in epsilon", "releases", func(b *bearer) bool {
		return slices.ContainsFunc(b.j.Releases, func(r Release) bool { return !inRho(r) })
	})
)

func inRho(r Release) bool { return r.Guarantee.Rho != nil }

// some is a list of capabilities.
func some(all ...*capability) []*capability { return all }

// keyedUnder are keys below one path.
func keyedUnder(path string, names ...string) (all []*capability) {
	for _, name := range names {
		all = append(all, keyed(path+"."+name))
	}
	return all
}

func keysAt(of level, names ...string) (all []*capability) {
	for _, name := range names {
		all = append(all, keyOf(of, name))
	}
	return all
}

// Words that several rows have.
const (
	leaveOut    = "leave it out"
	ownJob      = "put it into a job of its own"
	inTables    = "say it in the table, under dataset.tables"
	toAddRemove = "use relation: add-remove"
	toReplace   = "use relation: replace-one"
	inEpsilon   = "give the guarantees in epsilon"
	namedTable  = "name the table instead of a query, and choose rows with where"
	sayFrame    = "say dataset.frame: {path: …, records: …}"
	nothingRho  = "a draw leaves a rho as it is"
	countSecret = "how many units a Poisson sample has is secret"
	oneStratum  = "a unit must lie in one stratum, and only dataset.fold makes sure of that"
	partPrice   = "such a job pays a part of what several jobs cost together"
	noOrder     = "the rows of a database have no order, so a draw of them cannot be used again"
	rowsSecret  = "a condition decides how many rows there are, so their number is secret"
	noGain      = "with a public number of units, or groups of fixed sizes, nothing is proven to be gained"
	fewWaves    = "a unit is in few waves, and which ones is secret"
	noSlice     = "leave dataset.slice out: all waves share one account"
	noFold      = "a column without a list of values has no fold"
	insideDraws = "nothing is proven of draws inside a series"
)

// notTogether is the table of what does not go together. A row that stands on a number or on a plan is not in it.
var notTogether = []apart{
	// The relation (P1).
	{what: some(hasAtLeast), with: some(hasReplaceOne), why: "the size itself is public", instead: "say size"},
	{what: some(hasSize), with: some(hasAddRemove), why: "the size is secret",
		instead: "leave it out, or say at_least if a lower bound is public"},

	// Slices (P26).
	{what: some(hasEachSliceDrawn), with: some(hasSlice), without: true, why: "each_slice is about slices", instead: leaveOut},
	{what: some(hasLifetime), with: some(hasSlice), without: true, why: "lifetime is the limit over all slices", instead: "say limit"},
	{what: some(hasOneCollection), with: some(hasSlice), why: "who is in one slice tells who is in the others",
		instead: "say each_slice: true if each slice was drawn by itself; otherwise leave collected out: each slice then has its whole price"},
	{what: some(hasWave), with: some(hasSlice), at: "dataset.collected.method", why: fewWaves, instead: noSlice},
	{what: some(hasPanel), with: some(hasSlice), at: "method", why: fewWaves, instead: noSlice},

	// Several tables (P32).
	{what: keyedUnder("dataset", "source", "columns", "lookups", "derive", "fold", "cap"), with: some(hasSeveralTables),
		why: "each table has its own", instead: inTables},
	{what: keyedUnder("dataset.unit", "rows", "missing"), with: some(hasSeveralTables), why: "each table has its own", instead: inTables},
	{what: some(hasPopulation), with: some(hasSeveralTables), without: true, why: "the one table is the population", instead: leaveOut},
	{what: some(hasMembersTable), with: some(hasSeveralTables), without: true, why: "there is one table", instead: leaveOut},
	{what: some(hasOfTableNamed), with: some(hasSeveralTables), without: true, why: "there is one table",
		instead: "leave it out; a sample is named by from"},
	{what: some(hasSlice), with: some(hasSeveralTables), why: "rows of a table that is not cut by the slice would be in the accounts of all",
		instead: "filter the rows with where; or release from one table in a job of its own, on the same account"},
	{what: some(hasCollection), with: some(hasSeveralTables), why: "nothing can hold the tables to the same collected units",
		instead: "leave it out, which charges the whole price; or release from one table in a job of its own, on the same account"},
	{what: some(hasOtherMachines), with: some(hasSeveralTables), why: "a part of one would need the rows of its units in all others",
		instead: "leave it out: the tables are read on this machine"},
	{what: some(hasInParts), with: some(hasTablesWithNoHome), why: "such a sample draws units by the columns of one table",
		instead: "say dataset.population: the table whose columns say where a unit lies"},
	{what: some(hasKeptSample), with: some(hasSeveralTables),
		why:     "a draw is known by the places of units, and a job that reads other tables gives them others",
		instead: "draw a sample of this job's own, and make all releases from it in this job"},

	// Units with several rows (P22).
	{what: some(hasFolded, hasCapped), with: some(hasUnitColumn), without: true, at: "dataset.unit", why: "the column says whose a row is",
		instead: "say unit: {column: …, name: …}"},
	{what: some(hasUnitRows), with: some(hasFolded, hasCapped), at: "dataset.unit", why: "both say what becomes of several rows of a unit",
		instead: "say one of rows: 1, dataset.fold and dataset.cap"},
	{what: some(hasFolded), with: some(hasCapped), at: "dataset.unit", why: "both say what becomes of several rows of a unit",
		instead: "say one of rows: 1, dataset.fold and dataset.cap"},
	{what: some(hasOwnCap, hasOnePerUnit), with: some(hasCapped), without: true, why: "it is about the rows of a unit that count under a cap",
		instead: leaveOut},
	{what: some(hasMembers, hasGroups), with: some(hasCollection, hasAnySeries, hasKeptSample, hasPanel), why: partPrice, instead: leaveOut},
	{what: some(hasInParts), with: some(hasCappedHome), why: oneStratum, instead: "use dataset.fold, or srswor or poisson"},
	{what: some(hasCollectedByParts), with: some(hasCappedHome), why: oneStratum, instead: "use dataset.fold"},
	{what: some(hasHaving), with: some(hasFoldedOrOne), without: true, why: "having is about the folded values of a unit",
		instead: "say where, which is about a row"},
	{what: some(hasSelects), with: some(hasFolded), why: noFold, instead: "use dataset.cap"},
	{what: some(hasSelects), with: some(hasOneRow), why: noFold,
		instead: "say cap: {groups: 1, rows: 1} in the table, and not unit: {rows: 1}"},
	{what: some(hasOther), with: some(hasCapKeys), why: "a unit may have rows of several values in it, more than the cap allows in one group",
		instead: leaveOut},

	// What is found or measured in private.
	{what: some(hasCapMeasured), with: some(hasCollection, hasSurveyWeights),
		why: "the table is a sample, and its units are not those of its population", instead: leaveOut},
	{what: some(hasCapMeasured), with: some(hasOtherMachines), why: "the measure is made on one machine", instead: leaveOut},
	{what: some(hasCapMeasured), with: some(hasCapChosen), why: "the choice shows what each cap leaves out", instead: leaveOut},
	{what: some(hasCapChosen), with: some(hasSurveyWeights),
		why:     "what a cap leaves out is the weight of the rows, and the choice only counts them",
		instead: "say rows: and a number, such as one that a job without weights chose in private and published"},
	{what: keysAt(ofColumn, "upper", "domain", "assume", "type"), with: some(hasSearched),
		why: "the search says what the column holds and how far it reaches", instead: "leave out one of the two"},

	// Databases (P24, P33).
	{what: some(hasKeeps), with: some(hasDatabase), why: noOrder, instead: "leave it out, or write the table to a file"},
	{what: some(hasUsesKept), with: some(hasDatabase), why: noOrder, instead: "draw a sample of this job's own"},
	{what: some(hasReplaceOne), with: some(hasQuery), why: rowsSecret,
		instead: "say add-remove; or name the table, and choose rows with where"},
	{what: some(hasAtLeast, hasCollection, hasFrame, hasSlice), with: some(hasQuery), why: rowsSecret, instead: namedTable},

	// Samples (P2 to P8).
	{what: some(hasSrswor), with: some(hasSecretSize), at: "size", why: "the size of the table needs a public lower bound",
		instead: "say dataset.at_least, or use method: poisson"},
	{what: some(hasMultistaged, hasStratumTakes), with: some(hasAddRemove), why: "the frame makes the number of records public",
		instead: toReplace},
	{what: some(hasMultistaged), with: some(hasFrame), without: true, why: "the units of every stage are public", instead: sayFrame},
	{what: some(hasStratumTakes), with: some(hasFrame), without: true, why: "the size of every stratum is public", instead: sayFrame},
	{what: some(hasRatesBySize), with: some(hasFrame), without: true, why: "the size of every unit is public", instead: sayFrame},
	{what: some(hasRatesBySize), with: some(hasReplaceOne), why: "a row could change its unit and with it its rate", instead: toAddRemove},
	{what: some(hasRatesBySize), with: some(hasStratumRates, hasTakes), why: "each says how units are drawn", instead: "say one of the three"},
	{what: some(hasKeeps), with: some(hasRatesBySize), why: "the rates would have to be kept too", instead: leaveOut},
	{what: some(hasStratumRates), with: some(hasReplaceOne), why: "a row could change its stratum and with it its rate",
		instead: "say take, or " + toAddRemove},
	{what: some(hasKeptSample), with: some(hasCollection), why: "the two amplifications would have to be composed across jobs",
		instead: "draw a new sample in every job"},
	{what: some(hasInParts), with: some(hasCollection),
		why:     "who was collected is secret, so how many units each part of the frame has is secret too",
		instead: "use srswor or poisson, or release from the table itself"},
	{what: some(hasSrswor), with: some(hasCollectedOther),
		why:     "the units of the table have other chances, or their number is secret, and no event is proven",
		instead: "use poisson, or release from the table itself"},

	// A table that is a sample (P29).
	{what: some(hasCollectedFixed), with: some(hasAddRemove), why: "a sample of fixed size has a public size", instead: toReplace},
	{what: some(hasCollectedTakes), with: some(hasAddRemove), why: "the numbers of units in the population are public", instead: toReplace},
	{what: some(hasCollectedPoisson), with: some(hasReplaceOne), why: countSecret,
		instead: "if the size of the table is public, say method: srswor with the size of the population: given its size, " +
			"a Poisson sample of one rate is a simple random sample"},
	{what: some(hasCollectedByRates), with: some(hasReplaceOne), why: countSecret,
		instead: "if the numbers of units in the strata are public, say take and population instead of rates"},
	{what: some(hasCollectedByStages), with: some(hasFrame), without: true, why: "the units of every stage in the population are public",
		instead: sayFrame},

	// Panels (P34).
	{what: some(hasWave), with: some(hasReplaceOne), why: noGain,
		instead: "say relation: add-remove if each unit was allotted by itself and the sizes " +
			"of the waves are secret; otherwise leave collected out"},
	{what: some(hasPanel), with: some(hasReplaceOne), why: noGain, instead: toAddRemove},
	{what: some(hasAnySample), with: some(hasWave), why: "what is released in each wave is planned for the whole wave",
		instead: "release from the table itself"},
	{what: some(hasPanel), with: some(hasUnitColumn), without: true, why: "a later wave knows a unit by it",
		instead: "say dataset.unit: {column: …}"},
	{what: some(hasPanel), with: some(hasOwnUnits), why: "a later wave does not know them again",
		instead: "say missing: drop for dataset.unit"},
	{what: some(hasCollection), with: some(hasPanel), why: "the table would be a sample twice", instead: leaveOut},
	{what: some(hasPanel), with: some(hasSurveyWeights), why: "nothing is proven of weights in a panel", instead: "leave dataset.weights out"},
	{what: some(hasPanel), with: some(hasOtherMachines), why: "the machines of an engine learn nothing of who is in which wave",
		instead: "leave engine out"},

	// Series (P31).
	{what: some(hasAnySeries), with: some(hasSlice), without: true, why: "each period is a slice",
		instead: "say dataset.slice, with the column that holds the period"},
	{what: some(hasReplaceOne), with: some(hasAnySeries), why: "the price of a series is proven for units that come and go",
		instead: "say add-remove"},
	{what: some(hasSeveralTables), with: some(hasAnySeries),
		why: "a series knows a period by the rows of one table, and would not see that those of another changed", instead: "name one table"},
	{what: some(hasCollection), with: some(hasAnySeries), why: insideDraws, instead: leaveOut},
	{what: some(hasAnySample), with: some(hasAnySeries), why: insideDraws, instead: ownJob},
	{what: some(hasCapped), with: some(hasAnySeries), why: "each run would pick other rows of the same period", instead: "use dataset.fold"},
	{what: some(hasBudgetSpend), with: some(hasAnySeries), why: "no share is worked out for all its periods",
		instead: "give each release a guarantee in rho"},
	{what: some(hasOtherMachines), with: some(hasAnySeries), why: "a series is read on one machine", instead: leaveOut},
	{what: some(hasQuery), with: some(hasAnySeries), why: "a series reads the earlier periods again", instead: "name a table"},
	{what: some(hasFoundPrivate), with: some(hasAnySeries), why: "each period would find another bound", instead: ownJob},
	{what: some(hasKeys), with: some(hasInSeries), why: "keys would be chosen anew in each period", instead: "list the values in a domain"},
	{what: some(hasSuppressed), with: some(hasInSeries), why: "rows would come and go", instead: leaveOut},
	{what: some(hasInterval), with: some(hasInSeries), why: "each row of a series has low and high already, at 95 %", instead: leaveOut},
	{what: some(hasWithDelta), with: some(hasInSeries), why: "such guarantees do not add up over periods whose noise is correlated",
		instead: `say {rho: "0.2"}, for all periods together, or an epsilon alone`},

	// The price (P25, P28).
	{what: keyedUnder("budget.limit", "delta"), with: some(hasLimitRho), why: "a limit in rho has no delta", instead: leaveOut},
	{what: keyedUnder("budget.lifetime", "delta"), with: some(hasLifetimeRho), why: "a limit in rho has no delta", instead: leaveOut},
	{what: some(hasLifetimeRho), with: some(hasLimitRho), without: true, why: "both limits have the same units",
		instead: "give both limits in the same units"},
	{what: some(hasSomeRho), with: some(hasSomeEpsilon), why: "the two are not added up", instead: "give every release a rho, or none"},
	{what: some(hasCollection), with: some(hasSomeRho), why: nothingRho, instead: "leave it out, or give the guarantees in epsilon"},
	{what: some(hasPanel), with: some(hasSomeRho), why: nothingRho, instead: inEpsilon},
	{what: some(hasKeptSample), with: some(hasSomeRho), why: "releases from a kept sample are charged in epsilon", instead: inEpsilon},
	{what: some(hasKeys), with: some(hasKeysOrOwn), why: "a selection has a delta and no rho", instead: "give epsilon and delta"},
	{what: some(hasKeysAtMost), with: some(hasKeysTop), why: "top is a limit of its own", instead: "say one of them"},
	{what: some(hasKeysPrice), with: some(hasKeysFrom), why: "the other release pays", instead: "say one of them"},
	{what: some(hasKeysAtMost, hasKeysTop), with: some(hasKeysFrom), why: "the limit belongs to the release that selects the values",
		instead: leaveOut},
	{what: some(hasShare), with: some(hasBudgetSpend), without: true, why: "a weight divides budget.spend", instead: "add budget.spend"},
	{what: some(hasShare), with: some(hasOwnPrice), why: "a release pays its guarantee or a share", instead: "leave one of the two out"},
}
