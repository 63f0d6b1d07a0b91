#include "textflag.h"

// func prefetch(row *float64, size int)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ row+0(FP), AX
	MOVQ size+8(FP), CX
	ADDQ AX, CX

lines:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	CMPQ       AX, CX
	JLT        lines
	PREFETCHT0 -8(CX)
	RET
