/* SPDX-License-Identifier: Apache-2.0 */
/* capture_line.c - how far a capture is, on standard error. */
#include "tracing/capture/capture_line.h"

#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"

#define CLEAR "\r\033[K"

void capture_line_begin(struct capture_line *l, int eta, uint64_t now_ns)
{
	*l = (struct capture_line){
		.draws = eta == ETA_ALWAYS || (eta == ETA_AUTO && isatty(STDERR_FILENO)),
		.begin_ns = now_ns,
		.then_ns = now_ns,
	};
}

static uint64_t per_second(const struct capture_line *l, const struct capture_status *s,
			   uint64_t now_ns)
{
	uint64_t ns = now_ns - l->then_ns;

	return ns ? (uint64_t)((double)(s->records - l->then_records) * (double)NS_PER_S /
			       (double)ns)
		  : 0;
}

void capture_line_put(struct buf *out, const struct capture_line *l, const struct capture_status *s,
		      uint64_t bytes, uint64_t now_ns)
{
	char seconds[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];
	char lost[UNITS_TEXT_BYTES];
	char files[UNITS_TEXT_BYTES];

	buf_addf(out, "capture %s s  %s events/s  %.1f MB  lost %s  files %s",
		 units_human_count(seconds, (now_ns - l->begin_ns) / NS_PER_S),
		 units_human_count(rate, per_second(l, s, now_ns)), (double)bytes / 1e6,
		 units_human_count(lost, s->lost), units_human_count(files, s->files));
}

void capture_line_update(struct capture_line *l, const struct capture_status *s, uint64_t bytes,
			 uint64_t now_ns)
{
	struct buf text = { 0 };

	if (!l->draws)
		return;
	buf_add(&text, CLEAR);
	capture_line_put(&text, l, s, bytes, now_ns);
	/* Whom it does not reach misses nothing else. */
	(void)writeall(STDERR_FILENO, buf_str(&text), text.len);
	buf_fini(&text);
	l->is_drawn = true;
	l->then_ns = now_ns;
	l->then_records = s->records;
}

void capture_line_erase(struct capture_line *l)
{
	if (l->is_drawn)
		(void)writeall(STDERR_FILENO, CLEAR, strlen(CLEAR));
	l->is_drawn = false;
}
