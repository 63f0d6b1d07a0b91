#include "textflag.h"

// COMPARE sets 64 bits for 64 pairs of numbers: four at a time are compared, and
// VMOVMSKPD takes their four bits. A pair with a NaN gives 0 (an ordered predicate).
#define FOUR(pred, at, bits) \
	VMOVUPD   at(SI), Y0; \
	VCMPPD    pred, at(DX), Y0, Y0; \
	VMOVMSKPD Y0, bits

#define COMPARE(pred, word, sixteen) \
	MOVQ  dst+0(FP), DI; \
	MOVQ  x+8(FP), SI; \
	MOVQ  y+16(FP), DX; \
	MOVQ  words+24(FP), CX; \
word: \
	MOVQ  $4, BX; \
sixteen: \
	FOUR(pred, 0, R8); \
	FOUR(pred, 32, R9); \
	FOUR(pred, 64, R10); \
	FOUR(pred, 96, R11); \
	SHLQ  $4, R9; \
	SHLQ  $8, R10; \
	SHLQ  $12, R11; \
	ORQ   R9, R8; \
	ORQ   R11, R10; \
	ORQ   R10, R8; \
	SHRQ  $16, AX; \
	SHLQ  $48, R8; \
	ORQ   R8, AX; \
	ADDQ  $128, SI; \
	ADDQ  $128, DX; \
	DECQ  BX; \
	JNZ   sixteen; \
	MOVQ  AX, (DI); \
	ADDQ  $8, DI; \
	DECQ  CX; \
	JNZ   word; \
	VZEROUPPER; \
	RET

// func lessAVX(dst *uint64, x, y *float64, words int)
TEXT ·lessAVX(SB), NOSPLIT, $0-32
	COMPARE($0x11, word, sixteen)

// func lessEqualAVX(dst *uint64, x, y *float64, words int)
TEXT ·lessEqualAVX(SB), NOSPLIT, $0-32
	COMPARE($0x12, word, sixteen)
