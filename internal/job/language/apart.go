package language

import (
	"slices"

	"github.com/dprelease/dprelease/internal/job"
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
		return b.d.Collected != nil && !b.d.Collected.EachSlice && b.d.Collected.Method != job.Rotation
	})
	hasUnitColumn = wholeJob("dataset.unit.column", "dataset.unit", func(b *bearer) bool { return b.d.Key.Column != "" })
	hasOwnUnits   = wholeJob("missing: own for a unit", "dataset.unit.missing", func(b *bearer) bool {
		return b.d.Key.Missing == job.NoUnitOwn ||
			slices.ContainsFunc(b.d.Tables, func(t job.DataTable) bool { return t.Key.Missing == job.NoUnitOwn })
	})
)

// collectedBy is a table that was collected by one of some methods.
func collectedBy(name, key string, methods ...job.Method) *capability {
	return wholeJob(name, key, func(b *bearer) bool { return b.d.Collected != nil && slices.Contains(methods, b.d.Collected.Method) })
}

// ratedAs narrows a collection to those that say rates, or to those that do not.
func (c *capability) ratedAs(rates bool) *capability {
	return wholeJob(c.name, c.key, func(b *bearer) bool { return c.has(b) && b.said("dataset.collected.rates") == rates })
}

var (
	hasCollectedFixed = collectedBy("a table collected by srswor", "dataset.collected", job.SRSWOR)
	hasCollectedOther = collectedBy("a table not collected by srswor", "dataset.collected",
		job.Poisson, job.Stratified, job.Multistage, job.Rotation)
	hasCollectedTakes = collectedBy("a table collected by numbers to take", "dataset.collected",
		job.Stratified, job.Multistage).ratedAs(false)
	hasCollectedPoisson  = collectedBy("a table collected by poisson", "dataset.collected", job.Poisson)
	hasCollectedByRates  = collectedBy("a table collected by rates", "dataset.collected", job.Stratified).ratedAs(true)
	hasCollectedByStages = collectedBy("a table collected by multistage", "dataset.collected", job.Multistage)
	hasCollectedByParts  = collectedBy("a table collected by strata or stages", "dataset.collected.method", job.Stratified, job.Multistage)
	hasWave              = collectedBy("a wave of a panel", "dataset.collected", job.Rotation)
)

// sampled is a sample that is drawn by one of some methods, and says a key if one is given.
func sampled(name, key, says string, methods ...job.Method) *capability {
	return bears(ofSample, name, key, func(b *bearer) bool {
		return slices.Contains(methods, b.s.Method) && (says == "" || b.said(says))
	})
}

var (
	hasSrswor       = sampled("srswor", "method", "", job.SRSWOR)
	hasMultistaged  = sampled("multistage", "", "", job.Multistage)
	hasInParts      = sampled("a stratified or multistage sample", "method", "", job.Multistage, job.Stratified)
	hasStratumTakes = sampled("stratified with take", "", "take", job.Stratified)
	hasStratumRates = sampled("rates", "rates", "rates", job.Stratified)
	hasTakes        = sampled("take", "take", "take", job.Stratified)
	hasRatesBySize  = sampled("rates_by_size", "rates_by_size", "rates_by_size", job.Stratified)
	hasUsesKept     = sampled("method: kept", "method", "", job.Kept)
	hasPanel        = sampled("a panel that is drawn", "", "", job.Rotation)
	hasKeeps        = bears(ofSample, "keep", "keep", func(b *bearer) bool { return b.s.Keep })
	hasKeptSample   = bears(ofSample, "a kept sample", "", func(b *bearer) bool { return b.s.Keep || b.s.Method == job.Kept })
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
	hasCapMeasured = bears(ofTable, "dataset.cap.measure", job.CapMeasure, func(b *bearer) bool {
		return b.d.Cap != nil && b.d.Cap.Measure != nil
	})
	hasCapChosen = bears(ofTable, "a cap that is chosen in private", job.CapChoice, func(b *bearer) bool {
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
	hasKeysPrice = bears(ofRelease, "keys.guarantee", "keys", func(b *bearer) bool { return b.said("keys.guarantee") })
	hasKeysFrom  = bears(ofRelease, "keys.from", "keys.from", func(b *bearer) bool { return b.r.Keys != nil && b.r.Keys.From != "" })
	hasTallied   = bears(ofRelease, "keys without keys.guarantee", "keys", func(b *bearer) bool {
		return b.r.Tallied() && b.r.Unlisted(b.d) != ""
	})
	hasOtherRows = bears(ofRelease, "what is no plain count of units, one row each, by one column of a whole table", "", func(b *bearer) bool {
		c := b.d.CapOf(b.r)
		return b.r.From != job.All || b.d.Collected != nil || len(b.r.By) > 1 || b.r.Other != "" || b.r.Having.Said() || b.said("params") ||
			c != nil && (c.Rows > 1 || c.Choice != nil) || b.d.WeightsOf(b.r) != nil || len(b.d.Tables) > 0
	})
	hasKeysAtMost  = keyOf(ofRelease, "keys.at_most")
	hasKeysTop     = keyOf(ofRelease, "keys.top")
	hasSomeRho     = wholeJob("a guarantee in rho", "releases", func(b *bearer) bool { return slices.ContainsFunc(b.j.Releases, inRho) })
	hasSomeEpsilon = wholeJob("a guarantee in epsilon", "releases", func(b *bearer) bool {
		return slices.ContainsFunc(b.j.Releases, func(r job.Release) bool { return !inRho(r) })
	})
)

func inRho(r job.Release) bool { return r.Guarantee.Rho != nil }

// capabilities is one capability or several, each of which counts.
type capabilities interface{ all() []*capability }

type some []*capability

func (s some) all() []*capability        { return s }
func (c *capability) all() []*capability { return some{c} }

// keyedUnder are keys below one path.
func keyedUnder(path string, names ...string) (all some) {
	for _, name := range names {
		all = append(all, keyed(path+"."+name))
	}
	return all
}

func keysAt(of level, names ...string) (all some) {
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
	refuses(hasAtLeast, hasReplaceOne, "the size itself is public", "say size"),
	refuses(hasSize, hasAddRemove, "the size is secret", "leave it out, or say at_least if a lower bound is public"),

	// Slices (P26).
	needs(hasEachSliceDrawn, hasSlice, "each_slice is about slices", leaveOut),
	needs(hasLifetime, hasSlice, "lifetime is the limit over all slices", "say limit"),
	refuses(hasOneCollection, hasSlice, "who is in one slice tells who is in the others",
		"say each_slice: true if each slice was drawn by itself; otherwise leave collected out: each slice then has its whole price"),
	refuses(hasWave, hasSlice, fewWaves, noSlice).told("dataset.collected.method"),
	refuses(hasPanel, hasSlice, fewWaves, noSlice).told("method"),

	// Several tables (P32).
	refuses(keyedUnder("dataset", "source", "columns", "lookups", "derive", "fold", "cap"), hasSeveralTables, "each table has its own",
		inTables),
	refuses(keyedUnder("dataset.unit", "rows", "missing"), hasSeveralTables, "each table has its own", inTables),
	needs(hasPopulation, hasSeveralTables, "the one table is the population", leaveOut),
	needs(hasMembersTable, hasSeveralTables, "there is one table", leaveOut),
	needs(hasOfTableNamed, hasSeveralTables, "there is one table", "leave it out; a sample is named by from"),
	refuses(hasSlice, hasSeveralTables, "rows of a table that is not cut by the slice would be in the accounts of all",
		"filter the rows with where; or release from one table in a job of its own, on the same account"),
	refuses(hasCollection, hasSeveralTables, "nothing can hold the tables to the same collected units",
		"leave it out, which charges the whole price; or release from one table in a job of its own, on the same account"),
	refuses(hasOtherMachines, hasSeveralTables, "a part of one would need the rows of its units in all others",
		"leave it out: the tables are read on this machine"),
	refuses(hasInParts, hasTablesWithNoHome, "such a sample draws units by the columns of one table",
		"say dataset.population: the table whose columns say where a unit lies"),
	refuses(hasKeptSample, hasSeveralTables, "a draw is known by the places of units, and a job that reads other tables gives them others",
		"draw a sample of this job's own, and make all releases from it in this job"),

	// Units with several rows (P22).
	needs(some{hasFolded, hasCapped}, hasUnitColumn, "the column says whose a row is", "say unit: {column: …, name: …}").told("dataset.unit"),
	refuses(hasUnitRows, some{hasFolded, hasCapped}, "both say what becomes of several rows of a unit",
		"say one of rows: 1, dataset.fold and dataset.cap").told("dataset.unit"),
	refuses(hasFolded, hasCapped, "both say what becomes of several rows of a unit",
		"say one of rows: 1, dataset.fold and dataset.cap").told("dataset.unit"),
	needs(some{hasOwnCap, hasOnePerUnit}, hasCapped, "it is about the rows of a unit that count under a cap", leaveOut),
	refuses(some{hasMembers, hasGroups}, some{hasCollection, hasAnySeries, hasKeptSample, hasPanel}, partPrice, leaveOut),
	refuses(hasInParts, hasCappedHome, oneStratum, "use dataset.fold, or srswor or poisson"),
	refuses(hasCollectedByParts, hasCappedHome, oneStratum, "use dataset.fold"),
	needs(hasHaving, hasFoldedOrOne, "having is about the folded values of a unit", "say where, which is about a row"),
	refuses(hasSelects, hasFolded, noFold, "use dataset.cap"),
	refuses(hasSelects, hasOneRow, noFold, "say cap: {groups: 1, rows: 1} in the table, and not unit: {rows: 1}"),
	refuses(hasOther, hasCapKeys, "a unit may have rows of several values in it, more than the cap allows in one group", leaveOut),

	// What is found or measured in private.
	refuses(hasCapMeasured, some{hasCollection, hasSurveyWeights}, "the table is a sample, and its units are not those of its population",
		leaveOut),
	refuses(hasCapMeasured, hasOtherMachines, "the measure is made on one machine", leaveOut),
	refuses(hasCapMeasured, hasCapChosen, "the choice shows what each cap leaves out", leaveOut),
	refuses(hasCapChosen, hasSurveyWeights, "what a cap leaves out is the weight of the rows, and the choice only counts them",
		"say rows: and a number, such as one that a job without weights chose in private and published"),
	refuses(keysAt(ofColumn, "upper", "domain", "assume", "type"), hasSearched,
		"the search says what the column holds and how far it reaches", "leave out one of the two"),

	// Databases (P24, P33).
	refuses(hasKeeps, hasDatabase, noOrder, "leave it out, or write the table to a file"),
	refuses(hasUsesKept, hasDatabase, noOrder, "draw a sample of this job's own"),
	refuses(hasReplaceOne, hasQuery, rowsSecret, "say add-remove; or name the table, and choose rows with where"),
	refuses(some{hasAtLeast, hasCollection, hasFrame, hasSlice}, hasQuery, rowsSecret, namedTable),

	// Samples (P2 to P8).
	refuses(hasSrswor, hasSecretSize, "the size of the table needs a public lower bound",
		"say dataset.at_least, or use method: poisson").told("size"),
	refuses(some{hasMultistaged, hasStratumTakes}, hasAddRemove, "the frame makes the number of records public", toReplace),
	needs(hasMultistaged, hasFrame, "the units of every stage are public", sayFrame),
	needs(hasStratumTakes, hasFrame, "the size of every stratum is public", sayFrame),
	needs(hasRatesBySize, hasFrame, "the size of every unit is public", sayFrame),
	refuses(hasRatesBySize, hasReplaceOne, "a row could change its unit and with it its rate", toAddRemove),
	refuses(hasRatesBySize, some{hasStratumRates, hasTakes}, "each says how units are drawn", "say one of the three"),
	refuses(hasKeeps, hasRatesBySize, "the rates would have to be kept too", leaveOut),
	refuses(hasStratumRates, hasReplaceOne, "a row could change its stratum and with it its rate", "say take, or "+toAddRemove),
	refuses(hasKeptSample, hasCollection, "the two amplifications would have to be composed across jobs", "draw a new sample in every job"),
	refuses(hasInParts, hasCollection, "who was collected is secret, so how many units each part of the frame has is secret too",
		"use srswor or poisson, or release from the table itself"),
	refuses(hasSrswor, hasCollectedOther, "the units of the table have other chances, or their number is secret, and no event is proven",
		"use poisson, or release from the table itself"),

	// A table that is a sample (P29).
	refuses(hasCollectedFixed, hasAddRemove, "a sample of fixed size has a public size", toReplace),
	refuses(hasCollectedTakes, hasAddRemove, "the numbers of units in the population are public", toReplace),
	refuses(hasCollectedPoisson, hasReplaceOne, countSecret, "if the size of the table is public, say method: srswor with the size of "+
		"the population: given its size, a Poisson sample of one rate is a simple random sample"),
	refuses(hasCollectedByRates, hasReplaceOne, countSecret,
		"if the numbers of units in the strata are public, say take and population instead of rates"),
	needs(hasCollectedByStages, hasFrame, "the units of every stage in the population are public", sayFrame),

	// Panels (P34).
	refuses(hasWave, hasReplaceOne, noGain,
		"say relation: add-remove if each unit was allotted by itself and the sizes of the waves are secret; otherwise leave collected out"),
	refuses(hasPanel, hasReplaceOne, noGain, toAddRemove),
	refuses(hasAnySample, hasWave, "what is released in each wave is planned for the whole wave", "release from the table itself"),
	needs(hasPanel, hasUnitColumn, "a later wave knows a unit by it", "say dataset.unit: {column: …}"),
	refuses(hasPanel, hasOwnUnits, "a later wave does not know them again", "say missing: drop for dataset.unit"),
	refuses(hasCollection, hasPanel, "the table would be a sample twice", leaveOut),
	refuses(hasPanel, hasSurveyWeights, "nothing is proven of weights in a panel", "leave dataset.weights out"),
	refuses(hasPanel, hasOtherMachines, "the machines of an engine learn nothing of who is in which wave", "leave engine out"),

	// Series (P31).
	needs(hasAnySeries, hasSlice, "each period is a slice", "say dataset.slice, with the column that holds the period"),
	refuses(hasReplaceOne, hasAnySeries, "the price of a series is proven for units that come and go", "say add-remove"),
	refuses(hasSeveralTables, hasAnySeries,
		"a series knows a period by the rows of one table, and would not see that those of another changed", "name one table"),
	refuses(hasCollection, hasAnySeries, insideDraws, leaveOut),
	refuses(hasAnySample, hasAnySeries, insideDraws, ownJob),
	refuses(hasCapped, hasAnySeries, "each run would pick other rows of the same period", "use dataset.fold"),
	refuses(hasBudgetSpend, hasAnySeries, "no share is worked out for all its periods", "give each release a guarantee in rho"),
	refuses(hasOtherMachines, hasAnySeries, "a series is read on one machine", leaveOut),
	refuses(hasQuery, hasAnySeries, "a series reads the earlier periods again", "name a table"),
	refuses(hasFoundPrivate, hasAnySeries, "each period would find another bound", ownJob),
	refuses(hasKeys, hasInSeries, "keys would be chosen anew in each period", "list the values in a domain"),
	refuses(hasSuppressed, hasInSeries, "rows would come and go", leaveOut),
	refuses(hasInterval, hasInSeries, "each row of a series has low and high already, at 95 %", leaveOut),
	refuses(hasWithDelta, hasInSeries, "such guarantees do not add up over periods whose noise is correlated",
		`say {rho: "0.2"}, for all periods together, or an epsilon alone`),

	// The price (P25, P28).
	refuses(keyedUnder("budget.limit", "delta"), hasLimitRho, "a limit in rho has no delta", leaveOut),
	refuses(keyedUnder("budget.lifetime", "delta"), hasLifetimeRho, "a limit in rho has no delta", leaveOut),
	needs(hasLifetimeRho, hasLimitRho, "both limits have the same units", "give both limits in the same units"),
	refuses(hasSomeRho, hasSomeEpsilon, "the two are not added up", "give every release a rho, or none"),
	refuses(hasCollection, hasSomeRho, nothingRho, "leave it out, or give the guarantees in epsilon"),
	refuses(hasPanel, hasSomeRho, nothingRho, inEpsilon),
	refuses(hasKeptSample, hasSomeRho, "releases from a kept sample are charged in epsilon", inEpsilon),
	refuses(hasKeys, hasKeysOrOwn, "a selection has a delta and no rho", "give epsilon and delta"),
	refuses(hasTallied, hasOtherRows, "a selection counts nothing else", "say keys.guarantee"),
	refuses(hasKeysAtMost, hasKeysTop, "top is a limit of its own", "say one of them"),
	refuses(hasKeysPrice, hasKeysFrom, "the other release pays", "say one of them"),
	refuses(some{hasKeysAtMost, hasKeysTop}, hasKeysFrom, "the limit belongs to the release that selects the values", leaveOut),
	needs(hasShare, hasBudgetSpend, "a weight divides budget.spend", "add budget.spend"),
	refuses(hasShare, hasOwnPrice, "a release pays its guarantee or a share", "leave one of the two out"),
}
