#include "textflag.h"

// Four pairs of numbers are compared at a time, and VMOVMSKPD takes their four bits. A pair with a NaN gives 0 (an ordered
// predicate).
#define FOUR(pred, at, bits) \
	VMOVUPD   at(SI), Y0; \
	VCMPPD    pred, at(DX), Y0, Y0; \
	VMOVMSKPD Y0, bits

#define LESS(at, bits) FOUR($0x11, at, bits)
#define LESSEQUAL(at, bits) FOUR($0x12, at, bits)

// BETWEEN compares four numbers with the bounds.
#define BETWEEN(at, bits) \
	VMOVUPD   at(SI), Y0; \
	VCMPPD    $0x12, Y3, Y0, Y1; \
	VCMPPD    $0x1D, Y2, Y0, Y0; \
	VANDPD    Y1, Y0, Y0; \
	VMOVMSKPD Y0, bits

// COMPARE sets 64 bits for 64 numbers of SI.
#define COMPARE(four, word, sixteen) \
	MOVQ  dst+0(FP), DI; \
	MOVQ  x+8(FP), SI; \
	MOVQ  words+24(FP), CX; \
word: \
	MOVQ  $4, BX; \
sixteen: \
	four(0, R8); \
	four(32, R9); \
	four(64, R10); \
	four(96, R11); \
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
	MOVQ y+16(FP), DX
	COMPARE(LESS, word, sixteen)

// func lessEqualAVX(dst *uint64, x, y *float64, words int)
TEXT ·lessEqualAVX(SB), NOSPLIT, $0-32
	MOVQ y+16(FP), DX
	COMPARE(LESSEQUAL, word, sixteen)

// func betweenAVX(dst *uint64, x, bounds *float64, words int)
TEXT ·betweenAVX(SB), NOSPLIT, $0-32
	MOVQ         bounds+16(FP), DX
	VBROADCASTSD (DX), Y2
	VBROADCASTSD 8(DX), Y3
	COMPARE(BETWEEN, word, sixteen)
