package budget

// Forget makes every run forget a pin, "" for none.
func Forget(pin string) { forgotten = pin }
