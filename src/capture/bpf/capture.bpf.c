/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.bpf.c - the programs that the kernel runs for mlgen --capture: one object of all of
 * them. */

/* Maps are shared by all, so that they are one translation unit. */
#include "capture/bpf/ktypes.bpf.h"
#include "capture/bpf/state.bpf.h"
#include "capture/bpf/names.bpf.h"
#include "capture/bpf/pages.bpf.h"
#include "capture/bpf/async.bpf.h"
#include "capture/bpf/fdcalls.bpf.h"
#include "capture/bpf/block.bpf.h"
#include "capture/bpf/tasks.bpf.h"

/* Helpers of the kernel are for programs that say so. */
char _license[] SEC("license") = "Dual BSD/GPL";
