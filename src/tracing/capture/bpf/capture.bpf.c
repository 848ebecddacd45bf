/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.bpf.c - the programs that the kernel runs for mltrace record, as one object. */

/* All programs share the maps, and so form one translation unit. */
#include "tracing/capture/bpf/ktypes.bpf.h"
#include "tracing/capture/bpf/state.bpf.h"
#include "tracing/capture/bpf/names.bpf.h"
#include "tracing/capture/bpf/pages.bpf.h"
#include "tracing/capture/bpf/async.bpf.h"
#include "tracing/capture/bpf/fdcalls.bpf.h"
#include "tracing/capture/bpf/block.bpf.h"
#include "tracing/capture/bpf/tasks.bpf.h"

/* The kernel offers some helpers only to programs under the GPL. */
char _license[] SEC("license") = "Dual BSD/GPL";
