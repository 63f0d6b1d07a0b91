package pld

import "fmt"

// pointer tells functions apart, which cannot be compared.
func pointer(p *int) string { return fmt.Sprintf("%p", p) }
