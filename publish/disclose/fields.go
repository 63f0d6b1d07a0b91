package disclose

// RegistryCommit is the state of the registry's rules that entries are written for.
const RegistryCommit = "3e9c812a924cf01d228f26f6c462c59c391c3f2a (15 July 2026)"

// kind is the type of the values of an entry's field.
type kind string

const (
	text   kind = "text"
	texts  kind = "texts" // a list, at least one
	number kind = "number"
	share  kind = "share" // a number, or a formula as text
	day    kind = "day"
	tier   kind = "tier"
	any1   kind = "any" // the registry gives no type
)

// field is one field of an entry. Tier 0 belongs to none.
type field struct {
	path     string
	tier     int
	required bool // by the registry, where the part that holds it is there
	kind     kind
	one      []string // the only values, none for any
}

// fields are all fields of an entry, in the registry's order. There are no others.
var fields = []field{
	{"url_slug", 0, true, text, nil},
	{"status", 0, true, text,
		[]string{"Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)", "Approved (Pending)"}},
	{"tier", 0, true, tier, nil},
	{"deployment.basic.name", 1, true, text, nil},
	{"deployment.basic.data_curators", 1, true, texts, nil},
	{"deployment.basic.intended_use", 1, true, text, nil},
	{"deployment.basic.data_product_type", 1, true, text,
		[]string{"Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries"}},
	{"deployment.basic.data_product_region", 1, true, text, nil},
	{"deployment.basic.description", 1, true, text, nil},
	{"deployment.basic.publication_date", 1, true, day, nil},
	{"deployment.basic.data_product_sector", 1, false, text,
		[]string{"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"}},
	{"deployment.dp_variant.variant_name", 2, false, text,
		[]string{"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"}},
	{"deployment.dp_variant.data_domain", 3, false, text, nil},
	{"deployment.dp_variant.unprotected_quantities", 3, false, text, nil},
	{"deployment.privacy_loss.privacy_unit", 2, false, text, nil},
	{"deployment.privacy_loss.privacy_unit_details", 3, false, text, nil},
	{"deployment.privacy_loss.privacy_parameters.epsilon", 2, false, number, nil},
	{"deployment.privacy_loss.privacy_parameters.delta", 2, false, share, nil},
	{"deployment.privacy_loss.privacy_parameters.rho", 2, false, number, nil},
	{"deployment.privacy_loss.privacy_parameters_details", 3, false, any1, nil},
	{"deployment.deployment_model.model_name", 2, false, text, []string{"Local", "Central", "Shuffle", "Federated", "Varies"}},
	{"deployment.deployment_model.model_name_details", 0, false, text, nil},
	{"deployment.deployment_model.actors", 3, false, text, nil},
	{"deployment.deployment_model.release_type", 2, false, text, []string{"One release", "Many releases"}},
	{"deployment.deployment_model.release_type_details", 0, false, text, nil},
	{"deployment.deployment_model.data_source_type", 2, false, text, []string{"Static", "Dynamic"}},
	{"deployment.deployment_model.data_source_type_details", 3, false, any1, nil},
	{"deployment.deployment_model.access_type", 2, false, text, []string{"Interactive", "Non-interactive"}},
	{"deployment.deployment_model.access_type_details", 3, false, text, nil},
	{"deployment.accounting.post_processing", 3, false, text, nil},
	{"deployment.accounting.composition", 3, false, text, nil},
	{"deployment.implementation.preprocessing_and_hyperparameter_tuning", 3, false, text, nil},
	{"deployment.implementation.mechanisms", 3, false, text, nil},
	{"deployment.implementation.justification", 3, false, text, nil},
	{"deployment.administrative.sources", 1, false, text, nil},
	{"deployment.administrative.notes", 1, false, text, nil},
	{"deployment.administrative.registry_authors", 1, true, texts, nil},
}

// asked are the keys of publication that fill a field. Nothing else can.
var asked = map[string]string{
	"deployment.basic.name":                      "title",
	"deployment.basic.data_curators":             "publisher",
	"deployment.basic.intended_use":              "intended_use",
	"deployment.basic.data_product_region":       "region",
	"deployment.basic.publication_date":          "published",
	"deployment.basic.data_product_sector":       "sector",
	"deployment.implementation.justification":    "justification",
	"deployment.administrative.sources":          "sources",
	"deployment.administrative.registry_authors": "contact",
}

// anyOf are fields that stand for one another: any one of them is enough for a tier.
var anyOf = map[string]bool{
	"deployment.privacy_loss.privacy_parameters.epsilon": true,
	"deployment.privacy_loss.privacy_parameters.delta":   true,
	"deployment.privacy_loss.privacy_parameters.rho":     true,
}
