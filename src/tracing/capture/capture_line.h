/* SPDX-License-Identifier: Apache-2.0 */
/* capture_line.h - how far a capture is, on standard error. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "tracing/capture/capture.h"

/* A zeroed one draws nothing. */
struct capture_line {
	bool draws, is_drawn;
	uint64_t begin_ns, then_ns;
	uint64_t then_records;
};

/* `eta` as in settings.h: on a terminal, always, or never. */
void capture_line_begin(struct capture_line *l, int eta, uint64_t now_ns);

/* "capture 12 s  45,120 events/s  3.2 MB  lost 0  files 12": once a second or
 * so. `bytes` is what the file has by now. */
void capture_line_put(struct buf *out, const struct capture_line *l, const struct capture_status *s,
		      uint64_t bytes, uint64_t now_ns);
void capture_line_update(struct capture_line *l, const struct capture_status *s, uint64_t bytes,
			 uint64_t now_ns);
/* Before anything else is printed: leave an empty line. */
void capture_line_erase(struct capture_line *l);
