#include "textflag.h"

// FOUR adds four values to a sum, by the steps of Lattice.total: of numbers, a vector rounds as one does.
#define FOUR(at, t, sum) \
	VMOVUPD at(SI), t; \
	VSUBPD  Y4, t, t; \
	VMULPD  Y5, t, t; \
	VADDPD  Y6, t, t; \
	VPADDQ  t, sum, sum

// func totalAVX2(sums *[4]int64, values, numbers *float64, sixteens int)
TEXT ·totalAVX2(SB), NOSPLIT, $0-32
	MOVQ         sums+0(FP), DI
	MOVQ         values+8(FP), SI
	MOVQ         numbers+16(FP), DX
	MOVQ         sixteens+24(FP), CX
	VBROADCASTSD 0(DX), Y4
	VBROADCASTSD 8(DX), Y5
	VBROADCASTSD 16(DX), Y6
	VPXOR        Y0, Y0, Y0
	VPXOR        Y1, Y1, Y1
	VPXOR        Y2, Y2, Y2
	VPXOR        Y3, Y3, Y3
more:
	FOUR(0, Y8, Y0)
	FOUR(32, Y9, Y1)
	FOUR(64, Y10, Y2)
	FOUR(96, Y11, Y3)
	ADDQ         $128, SI
	DECQ         CX
	JNZ          more
	VPADDQ       Y1, Y0, Y0
	VPADDQ       Y3, Y2, Y2
	VPADDQ       Y2, Y0, Y0
	VMOVDQU      Y0, (DI)
	VZEROUPPER
	RET
