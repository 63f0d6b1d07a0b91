// Package keys chooses, privately, which keys that nobody listed beforehand may be published (P25).
//
// The names of towns or the codes of products in a table are private: a key that one unit alone has tells of that unit.
// So a key appears only if a [Rule] keeps it, which looks at nothing but the number of units that have the key:
//
//   - [Geometric] is for units with one key each. It tosses one coin for each key, and no rule with the same guarantee
//     keeps a key with a larger probability.
//   - [Threshold] is for units with up to k keys, or where noisy counts are wanted as well: it adds Laplace noise, truncated or not, or
//     Gaussian noise to the number of units and keeps the keys whose noisy number exceeds a threshold. [Threshold.Interval] gives the
//     number of units from a noisy one that is shown.
//
// A Counter of package units adds up the units of each key in bounded memory. [Calibrate] finds the rule that meets a guarantee and
// keeps the smallest groups, [Select] applies it, and [Size] and [SizeSampled] say before any data is read how large a
// group must be to appear.
//
// # What it may import
//
// The standard library, privacy for the events, and internal/noise for the coins. It reads no table.
//
// # What it promises
//
// [Rule.Event] is the cost of the selection under every relation: the coins have exact fractions as probabilities,
// rounded to the side on which the event still holds. The result is sorted by the keys, so that its order says nothing; where
// the rule counts, [Selection.Rank] sorts it by the noisy numbers. A
// limit on the number of keys drops keys after the selection and never candidates before it.
// [Shown] writes any key as printable text, and different keys as different texts.
//
// # What it does not protect against
//
// Counts that are not what the event says: each unit must be counted for at most k keys, once for each, on the drawn,
// filtered and bounded rows. How long a selection takes depends on the number of keys in the table (P19).
package keys
