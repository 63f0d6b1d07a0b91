package job

// VariableType is the type of a variable's value. The zero value is invalid.
type VariableType string

// What a variable may hold: any text, a decimal number, a day such as 2026-10-31.
const (
	TextVariable   VariableType = "text"
	NumberVariable VariableType = "number"
	DateVariable   VariableType = "date"
)

// Variable is a text that a run may set. $(NAME) stands for it in the values of the job.
type Variable struct {
	Name    string
	Type    VariableType
	Pattern string // of the whole text, "" where the job does not say
	Default string
	Value   string // that was set, or the default
}
