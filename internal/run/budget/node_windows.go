package budget

// nodeOf knows no file by more than its name and its bytes here.
func nodeOf(string) string { return "" }
