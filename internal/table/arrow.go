package table

import "context"

func openArrow(ctx context.Context, base opened) (dataFile, error) {
	return nil, fail(CodeUnsupported, "", "x")
}
