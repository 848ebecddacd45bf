/* SPDX-License-Identifier: Apache-2.0 */
/* status_line.c - what the status line says of one job. */
#include "report/status_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/units.h"
#include "stat/opstat.h"

#define MIB 1048576.0
#define GIB 1073741824.0
#define NS_PER_SEC UINT64_C(1000000000)

#define COLUMNS STATUS_COLUMNS
#define WAITING_NS (2 * NS_PER_SEC)
#define OUTSTANDING_NS (10 * NS_PER_SEC)
#define PARTS 9
#define PART_BYTES 96

/* The pieces of a line, from left to right, and what to do without first. */
struct part {
	char text[PART_BYTES];
	unsigned worth; /* the least goes first; 0 stays */
};

struct line {
	struct part parts[PARTS];
	unsigned count;
};

/* Of UTF-8: a text is not cut before this byte. */
static bool is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

__attribute__((format(printf, 3, 4))) static void add_part(struct line *l,
							   unsigned worth,
							   const char *fmt, ...)
{
	struct part *p = &l->parts[l->count++];
	char text[sizeof(p->text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Names and paths come from users: none of them moves the cursor. */
	printable_copy(p->text, sizeof(p->text), text);
	p->worth = worth;
}

/* Three digits are enough for something that changes every second. */
static char *put_rate(char *out, double bytes_per_sec)
{
	bool is_gib = bytes_per_sec >= GIB;
	double v = bytes_per_sec / (is_gib ? GIB : MIB);
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
	snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", decimals, v,
		 is_gib ? "GiB/s" : "MiB/s");
	return out;
}

/* "1.66 of 3.73 TiB": both in the unit of the larger. */
static void put_done_of(char *out, size_t size, uint64_t done, uint64_t total)
{
	char whole[UNITS_TEXT_BYTES];
	double power = 1;
	while ((double)total / power >= 1023.5)
		power *= 1024;
	double v = (double)done / power;
	units_human_bytes(whole, (double)total);
	snprintf(out, size, "%.*f of %s",
		 power < 2    ? 0
		 : v < 99.995 ? 2
			      : v < 999.95,
		 v, whole);
}

/* Rate of a counter over the last seconds; NaN where there is no past. */
static double rate_since(const struct live *now, const struct status_look *then,
			 uint64_t gained)
{
	if (now->now_ns <= then->now_ns)
		return (double)NAN;
	return (double)gained * (double)NS_PER_SEC /
	       (double)(now->now_ns - then->now_ns);
}

static void add_left(struct line *l, uint64_t left_ns)
{
	char text[UNITS_TEXT_BYTES];
	uint64_t s = left_ns / NS_PER_SEC;
	if (left_ns == UINT64_MAX)
		return;
	if (s < 60)
		add_part(l, 2, "left %" PRIu64 "s", s);
	else
		add_part(l, 2, "left %s",
			 units_human_time(text, s * NS_PER_SEC));
}

static void prepare_line(struct line *l, const struct live *now,
			 const struct status_look *then)
{
	char done[UNITS_TEXT_BYTES], total[UNITS_TEXT_BYTES], bytes[64],
		rate[UNITS_TEXT_BYTES];
	uint64_t gained = now->bytes_done > then->bytes_done
				  ? now->bytes_done - then->bytes_done
				  : 0;
	double per_sec = rate_since(now, then, gained);
	uint64_t left_ns = now->left_ns;
	add_part(l, 0, "%s", now->is_io ? "layout" : "prepare");
	add_part(l, 0, " %s/%s files", units_human_count(done, now->files_done),
		 units_human_count(total, now->files_total));
	put_done_of(bytes, sizeof(bytes), now->bytes_done, now->bytes_total);
	add_part(l, 1, "%s", bytes);
	if (!isnan(per_sec))
		add_part(l, 3, "%s", put_rate(rate, per_sec));
	if (left_ns == UINT64_MAX && per_sec > 0 &&
	    now->bytes_total >= now->bytes_done)
		left_ns = (uint64_t)((double)(now->bytes_total -
					      now->bytes_done) /
				     per_sec * (double)NS_PER_SEC);
	add_left(l, left_ns);
}

static bool is_outstanding(const struct live *now)
{
	return now->oldest.start_ns != 0 &&
	       now->now_ns >= now->oldest.start_ns + OUTSTANDING_NS;
}

/* The end of a path names the file; its beginning goes first. */
static void add_outstanding(struct line *l, const struct live *now, size_t room)
{
	const char *path = now->oldest.path;
	size_t len = strlen(path);
	char what[64];
	int head =
		snprintf(what, sizeof(what),
			 "%s for %" PRIu64 " s: ", opstat_name(now->oldest.op),
			 (now->now_ns - now->oldest.start_ns) / NS_PER_SEC);
	if (room > PART_BYTES - 1)
		room = PART_BYTES - 1;
	room = room > (size_t)head + 16 ? room - (size_t)head : 16;
	if (len <= room) {
		add_part(l, 0, "%s%s", what, path);
		return;
	}
	path += len - (room - 3);
	while (is_inside(*path))
		path++;
	add_part(l, 0, "%s...%s", what, path);
}

static void add_epoch(struct line *l, const struct live *now)
{
	if (now->epochs > 0)
		add_part(l, 5, "epoch %" PRIu64 "/%" PRIu64, now->epoch,
			 now->epochs);
	else
		add_part(l, 5, "epoch %" PRIu64, now->epoch);
}

static void add_step(struct line *l, const struct live *now)
{
	if (now->steps > 0)
		add_part(l, 1, "step %" PRIu64 "/%" PRIu64, now->step,
			 now->steps);
	else
		add_part(l, 1, "step %" PRIu64, now->step);
}

static void add_throughput(struct line *l, const struct live *now,
			   const struct status_look *then)
{
	char rate[UNITS_TEXT_BYTES];
	double per_sec =
		rate_since(now, then, now->sample_bytes - then->sample_bytes);
	if (now->waiting_ns > WAITING_NS)
		add_part(l, 0, "waiting %" PRIu64 " s",
			 now->waiting_ns / NS_PER_SEC);
	else if (!isnan(per_sec))
		add_part(l, 0, "%s", put_rate(rate, per_sec));
}

static void add_au(struct line *l, const struct live *now,
		   const struct status_look *then)
{
	uint64_t steps_ns = now->step_ns - then->step_ns;
	if (now->compute_ns == 0 || steps_ns == 0)
		return;
	double au = (double)(now->compute_ns - then->compute_ns) /
		    (double)steps_ns * 100;
	add_part(l, 4, "AU %.1f%%", au);
}

static void add_stall(struct line *l, const struct live *now,
		      const struct status_look *then, struct hist *scratch)
{
	if (!now->stall || !then->stall)
		return;
	memcpy(scratch, now->stall, sizeof(*scratch));
	hist_subtract(scratch, then->stall);
	if (scratch->count == 0)
		return;
	double ms = (double)hist_percentile(scratch, 99) / 1e6;
	add_part(l, 3, "stall p99 %.*f ms",
		 ms < 0.995  ? 3
		 : ms < 9.95 ? 2
			     : ms < 99.5,
		 ms);
}

/* Of all checkpoints so far: they are alike. */
static uint64_t checkpoint_moved(const struct live *now)
{
	uint64_t before = now->checkpoint > 0 ? now->checkpoint - 1 : 0;
	return before * now->checkpoint_bytes + now->checkpoint_done;
}

static double checkpoint_rate(const struct live *now,
			      const struct status_look *then)
{
	uint64_t moved = checkpoint_moved(now);
	if (moved <= then->checkpoint_moved)
		return now->now_ns > then->now_ns ? 0 : (double)NAN;
	return rate_since(now, then, moved - then->checkpoint_moved);
}

static void add_checkpoint(struct line *l, const struct live *now)
{
	if (now->checkpoints > 0)
		add_part(l, 0, "checkpoint %" PRIu64 "/%" PRIu64,
			 now->checkpoint, now->checkpoints);
	else
		add_part(l, 0, "checkpoint %" PRIu64, now->checkpoint);
}

/* By the rate of the last seconds, where nothing better is known. */
static uint64_t checkpoints_left_ns(const struct live *now, double per_sec)
{
	if (now->left_ns != UINT64_MAX || !(per_sec > 0) ||
	    now->checkpoints == 0)
		return now->left_ns;
	double all = (double)now->checkpoints * (double)now->checkpoint_bytes;
	double left = all - (double)checkpoint_moved(now);
	return left > 0 ? (uint64_t)(left / per_sec * (double)NS_PER_SEC) : 0;
}

static void checkpoint_line(struct line *l, const struct live *now,
			    const struct status_look *then)
{
	double per_sec = checkpoint_rate(now, then);
	char bytes[64], rate[UNITS_TEXT_BYTES];
	add_part(l, 0, "%s", now->job_name);
	if (is_outstanding(now)) {
		add_outstanding(l, now,
				COLUMNS - 12 - strlen(l->parts[0].text));
		return;
	}
	add_checkpoint(l, now);
	if (now->is_checkpointing) {
		put_done_of(bytes, sizeof(bytes), now->checkpoint_done,
			    now->checkpoint_bytes);
		add_part(l, 1, "%s", bytes);
	} else {
		add_part(l, 1, "%s",
			 now->checkpoint == now->checkpoints ? "done"
							     : "pause");
	}
	if (now->is_checkpointing && !isnan(per_sec))
		add_part(l, 3, "%s", put_rate(rate, per_sec));
	add_left(l, checkpoints_left_ns(now, per_sec));
}

static void add_short_checkpoint(struct line *l, const struct live *now,
				 const struct status_look *then)
{
	double per_sec = checkpoint_rate(now, then);
	char rate[UNITS_TEXT_BYTES];
	add_checkpoint(l, now);
	if (now->is_checkpointing && !isnan(per_sec))
		add_part(l, 0, "%s", put_rate(rate, per_sec));
}

/* One that is under way beside a training, or for which it stands still. */
static void add_saving(struct line *l, const struct live *now)
{
	char bytes[64];
	if (!now->is_checkpointing)
		return;
	put_done_of(bytes, sizeof(bytes), now->checkpoint_done,
		    now->checkpoint_bytes);
	add_part(l, 4, "checkpoint %" PRIu64 " %s", now->checkpoint, bytes);
}

static void add_errors(struct line *l, const struct live *now)
{
	char n[UNITS_TEXT_BYTES];
	if (now->errors)
		add_part(l, 0, "%s error%s", units_human_count(n, now->errors),
			 now->errors == 1 ? "" : "s");
}

static void train_line(struct line *l, const struct live *now,
		       const struct status_look *then, struct hist *scratch)
{
	add_part(l, 0, "%s", now->job_name);
	add_epoch(l, now);
	if (is_outstanding(now)) {
		size_t used = 0;
		for (unsigned i = 0; i < l->count; i++)
			used += strlen(l->parts[i].text) + 2;
		add_outstanding(l, now, COLUMNS - 10 - used);
		return;
	}
	add_step(l, now);
	add_errors(l, now);
	add_saving(l, now);
	add_throughput(l, now, then);
	add_au(l, now, then);
	add_stall(l, now, then, scratch);
	add_left(l, now->left_ns);
}

/* Three digits, too: "203k". */
static char *put_iops(char *out, double per_sec)
{
	static const char units[] = { 0, 'k', 'M' };
	unsigned unit = 0;
	while (per_sec >= 999.5 && unit < 2) {
		per_sec /= 1000;
		unit++;
	}
	int decimals = unit == 0 || per_sec >= 99.95 ? 0
		       : per_sec >= 9.995            ? 1
						     : 2;
	char suffix[2] = { units[unit], '\0' };
	snprintf(out, UNITS_TEXT_BYTES, "%.*f%s", decimals, per_sec, suffix);
	return out;
}

static void add_directions(struct line *l, const struct live *now,
			   const struct status_look *then)
{
	static const char names[] = { 'r', 'w' };
	char iops[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];
	for (unsigned i = 0; i < 2; i++) {
		double ios =
			rate_since(now, then, now->io_ios[i] - then->io_ios[i]);
		double bytes = rate_since(now, then,
					  now->io_moved[i] - then->io_moved[i]);
		if (now->io_ios[i] > 0 && !isnan(ios))
			add_part(l, 0, "%c=%s IOPS %s", names[i],
				 put_iops(iops, ios), put_rate(rate, bytes));
	}
}

/* Of the time that the phase will have taken. */
static void add_done(struct line *l, const struct live *now, uint64_t begin_ns)
{
	double done = (double)(now->now_ns - begin_ns);
	if (now->left_ns == UINT64_MAX || now->now_ns <= begin_ns)
		return;
	add_part(l, 1, "%.0f%%", 100 * done / (done + (double)now->left_ns));
}

static void io_line(struct line *l, const struct live *now,
		    const struct status_look *then, uint64_t begin_ns)
{
	add_part(l, 0, "%s", now->job_name);
	if (is_outstanding(now)) {
		add_outstanding(l, now,
				COLUMNS - 12 - strlen(l->parts[0].text));
		return;
	}
	add_directions(l, now, then);
	add_errors(l, now);
	add_done(l, now, begin_ns);
	add_left(l, now->left_ns);
}

static void compose(struct line *l, const struct live *now,
		    const struct status_look *then, uint64_t begin_ns,
		    struct hist *scratch)
{
	l->count = 0;
	switch (now->phase) {
	case LIVE_PREPARE:
		prepare_line(l, now, then);
		break;
	case LIVE_TRAIN:
		train_line(l, now, then, scratch);
		break;
	case LIVE_IO:
		io_line(l, now, then, begin_ns);
		break;
	case LIVE_CHECKPOINT:
		checkpoint_line(l, now, then);
		break;
	case LIVE_WAIT:
		add_part(l, 0, "%s", now->job_name);
		add_part(l, 0, "waits for its start");
		break;
	case LIVE_DROP:
		add_part(l, 0, "%s", now->job_name);
		add_part(l, 0, "drops its files from the page cache");
		break;
	case LIVE_DONE:
		add_part(l, 0, "%s", now->job_name);
		add_part(l, 0, "done");
		break;
	}
}

static size_t join(const struct line *l, const char *between, char *out,
		   size_t size)
{
	size_t len = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < l->count && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s",
					i ? between : "", l->parts[i].text);
	return len;
}

static bool drop_least(struct line *l)
{
	unsigned least = PARTS;
	for (unsigned i = 0; i < l->count; i++)
		if (l->parts[i].worth > 0 &&
		    (least == PARTS ||
		     l->parts[i].worth < l->parts[least].worth))
			least = i;
	if (least == PARTS)
		return false;
	memmove(&l->parts[least], &l->parts[least + 1],
		(l->count - least - 1) * sizeof(l->parts[0]));
	l->count--;
	return true;
}

/* In at most `columns`: closer together, then without the least important. */
static void fit(struct line *l, size_t columns, char *out, size_t size)
{
	while (join(l, "  ", out, size) > columns &&
	       join(l, " ", out, size) > columns && drop_least(l))
		;
	if (strlen(out) <= columns)
		return;
	while (columns && is_inside(out[columns]))
		columns--;
	out[columns] = '\0';
}

struct status_look status_look_of(const struct live *now)
{
	return (struct status_look){
		.now_ns = now->now_ns,
		.sample_bytes = now->sample_bytes,
		.compute_ns = now->compute_ns,
		.step_ns = now->step_ns,
		.bytes_done = now->bytes_done,
		.io_ios = { now->io_ios[0], now->io_ios[1] },
		.io_moved = { now->io_moved[0], now->io_moved[1] },
		.checkpoint_moved = checkpoint_moved(now),
	};
}

void status_line(const struct live *now, const struct status_line_past *past,
		 size_t columns, char *out, size_t size)
{
	struct line l;
	compose(&l, now, past->then, past->begin_ns, past->scratch);
	fit(&l, columns, out, size);
}

void status_line_short(const struct live *now, const struct status_look *then,
		       char *out, size_t size)
{
	struct line l = { .count = 0 };
	add_part(&l, 0, "%s", now->job_name);
	if (is_outstanding(now))
		add_outstanding(&l, now, COLUMNS / 2);
	else if (now->phase == LIVE_IO)
		add_directions(&l, now, then);
	else if (now->phase == LIVE_CHECKPOINT)
		add_short_checkpoint(&l, now, then);
	else
		add_throughput(&l, now, then);
	add_au(&l, now, then);
	add_errors(&l, now);
	join(&l, " ", out, size);
}
