package tables

import "fmt"

// texts are the sentences of this package in a publication, in each language of the report.
var texts = map[string]map[string]string{
	"en": {
		"status":      "U: not reliable; Q: not shown; empty: normal",
		"by":          "by %s",
		"error":       "The standard deviation of its error",
		"error_alone": "The standard deviation of its noise, without the error of sampling,",
		"unreliable":  "U: not reliable. %[2]s is more than %[1]s of the value.",
		"blank":       "Q: not shown. %[2]s is more than %[1]s of the value, or the release itself leaves it out.",
		"suppressed":  "Q: not shown by the release itself.",
		"unknown":     "How far noise moves these values is not public, so none is marked.",
		"rounded":     "Values are rounded to the digits that their noise leaves meaningful: the noise keeps two.",
		"source":      "Source: %s.",
		"contact":     "Contact: %s.",
		"tables":      "Tables",
		"dictionary":  "Dictionary",
		"table":       "the table",
		"file":        "its file",
		"title":       "what it is about",
		"mechanism":   "the mechanism, with its version",
		"from":        "table, or the sample that it is computed from",
		"filter":      "the condition on what counts",
		"epsilon":     "ε of this table with the selection of its groups, rounded up; the column adds up to at least what the notes say of all",
		"delta":       "δ of this table with the selection of its groups, rounded up",
		"unit":        "what is protected",
		"rows":        "how many rows of a unit count at most",
		"limits":      "what is not in the values",
		"column":      "the column",
		"role":        "published: a column of the table; source: a column of the private table that it is computed from",
		"type":        "the type of its values",
		"meaning":     "what it holds",
		"lower":       "numbers below are clipped to this bound",
		"upper":       "numbers above are clipped to this bound",
		"clipping":    "public: the bounds stand in the job; private: they are found between these, in private",
		"missing":     "what becomes of missing values",
		"outside":     "what becomes of values outside the domain",
	},
	"de": {
		"status":      "U: nicht verlässlich; Q: nicht ausgewiesen; leer: normal",
		"by":          "nach %s",
		"error":       "Die Standardabweichung des Fehlers",
		"error_alone": "Die Standardabweichung des Rauschens, ohne den Stichprobenfehler,",
		"unreliable":  "U: nicht verlässlich. %[2]s ist größer als %[1]s des Wertes.",
		"blank":       "Q: nicht ausgewiesen. %[2]s ist größer als %[1]s des Wertes, oder die Veröffentlichung lässt ihn selbst weg.",
		"suppressed":  "Q: von der Veröffentlichung selbst nicht ausgewiesen.",
		"unknown":     "Wie weit das Rauschen diese Werte verschiebt, ist nicht öffentlich; daher ist keiner gekennzeichnet.",
		"rounded":     "Die Werte sind auf die Stellen gerundet, die ihr Rauschen zulässt: Das Rauschen behält zwei.",
		"source":      "Quelle: %s.",
		"contact":     "Kontakt: %s.",
		"tables":      "Tabellen",
		"dictionary":  "Merkmale",
		"table":       "die Tabelle",
		"file":        "ihre Datei",
		"title":       "worum es geht",
		"mechanism":   "der Mechanismus und seine Version",
		"from":        "die Tabelle (table) oder die Stichprobe, aus der sie berechnet ist",
		"filter":      "die Bedingung für das, was zählt",
		"epsilon": "ε dieser Tabelle mit der Auswahl ihrer Gruppen, aufgerundet; die Summe der Spalte ist mindestens, " +
			"was alle laut Anmerkungen kosten",
		"delta":    "δ dieser Tabelle mit der Auswahl ihrer Gruppen, aufgerundet",
		"unit":     "was geschützt ist",
		"rows":     "wie viele Zeilen einer Einheit höchstens zählen",
		"limits":   "was nicht in den Werten steckt",
		"column":   "die Spalte",
		"role":     "published: eine Spalte der Tabelle; source: eine Spalte der geheimen Tabelle, aus der sie berechnet ist",
		"type":     "der Typ der Werte",
		"meaning":  "was sie enthält",
		"lower":    "kleinere Zahlen werden auf diese Grenze gesetzt",
		"upper":    "größere Zahlen werden auf diese Grenze gesetzt",
		"clipping": "public: die Grenzen stehen im Job; private: sie werden zwischen diesen geheim gefunden",
		"missing":  "was mit fehlenden Werten geschieht",
		"outside":  "was mit Werten außerhalb der Liste geschieht",
	},
}

// t is a text in the language of the publication, with its blanks filled in.
func (b *book) t(name string, blanks ...any) string {
	text := texts[b.language][name]
	if len(blanks) == 0 {
		return text
	}
	return fmt.Sprintf(text, blanks...)
}
