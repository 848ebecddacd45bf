/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_record.h - what comes out of the ring, as records and entries of a trace. */
#pragma once

#include <stddef.h>

#include "tracing/capture/bpf/bpf_kernel.h"
#include "tracing/capture/capture.h"

struct bpf_record;

/* Both are the caller's. */
struct bpf_record *record_new(struct trace_writer *writer, struct bpf_kernel *kernel);
void record_free(struct bpf_record *r); /* NULL is fine */

/* One event, as the ring has it. */
void record_event(struct bpf_record *r, const void *event, size_t bytes);

/* At the end: requests whose end nobody saw, and what was lost. To `notes`, a line each, what was
 * left out otherwise. */
void record_end(struct bpf_record *r, struct buf *notes);

void record_look(const struct bpf_record *r, struct capture_status *status);
