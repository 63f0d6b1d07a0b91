#include "textflag.h"

// func prefetch(row *float64, size int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD row+0(FP), R0
	MOVD size+8(FP), R1
	ADD  R0, R1, R1

lines:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0, R0
	CMP  R1, R0
	BLT  lines
	SUB  $8, R1, R1
	PRFM (R1), PLDL1KEEP
	RET
