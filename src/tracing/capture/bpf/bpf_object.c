/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_object.c - the object file of capture.bpf.c, as bytes. */
#include "tracing/capture/bpf/bpf.h"

/* make builds the object first, and runs at the top of the tree. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl capture_object, capture_object_bytes\n"
	"capture_object:\n"
	".incbin \"build/src/tracing/capture/bpf/capture.bpf.o\"\n"
	".Lcapture_object_end:\n"
	".balign 8\n"
	"capture_object_bytes:\n"
	".quad .Lcapture_object_end - capture_object\n"
	".popsection\n");
