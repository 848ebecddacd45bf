/* SPDX-License-Identifier: Apache-2.0 */
/* status_line.c - what the status line says of one job. */
#include "report/live/live_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/units.h"
#include "base/util.h"
#include "stat/opstat.h"

char *status_figure_rate(char *out, double bytes_per_sec)
{
	bool is_gib = bytes_per_sec >= BYTES_PER_GIB;
	double v = bytes_per_sec / (is_gib ? BYTES_PER_GIB : BYTES_PER_MIB);
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", decimals, v, is_gib ? "GiB/s" : "MiB/s");
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
	snprintf(out, size, "%.*f of %s", power < 2 ? 0 : v < 99.995 ? 2 : v < 999.95, v, whole);
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
	int decimals = unit == 0 || per_sec >= 99.95 ? 0 : per_sec >= 9.995 ? 1 : 2;
	char suffix[2] = { units[unit], '\0' };
	snprintf(out, UNITS_TEXT_BYTES, "%.*f%s", decimals, per_sec, suffix);
	return out;
}

/* What the text of a figure is made of; one that has no value leaves it "". */
struct shown {
	const struct live_field *row;
	const struct live_span *span;
	struct hist *scratch;
	char *out;
};

static void status_figure_put_text(const struct shown *s)
{
	const char *text = *(const char *const *)live_now(s->row, s->span);

	snprintf(s->out, STATUS_FIGURE_BYTES, "%s", text);
}

static void status_figure_put_choice(const struct shown *s)
{
	int value = *(const int *)live_now(s->row, s->span);

	for (const struct mlgen_choice *c = s->row->field.choices; c->name; c++)
		if (c->value == value)
			snprintf(s->out, STATUS_FIGURE_BYTES, "%s", c->name);
}

static void put_number(const struct shown *s)
{
	uint64_t n = live_count(s->row, s->span), of = live_of(s->row, s->span);

	if (of > 0)
		snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64 "/%" PRIu64, n, of);
	else
		snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64, n);
}

static void put_count(const struct shown *s)
{
	char n[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];

	units_human_count(n, live_count(s->row, s->span));
	units_human_count(of, live_of(s->row, s->span));
	snprintf(s->out, STATUS_FIGURE_BYTES, "%s/%s", n, of);
}

static void put_errors(const struct shown *s)
{
	uint64_t errors = *(const uint64_t *)live_now(s->row, s->span);
	char n[UNITS_TEXT_BYTES];

	if (errors)
		snprintf(s->out, STATUS_FIGURE_BYTES, "%s error%s", units_human_count(n, errors),
			 errors == 1 ? "" : "s");
}

static void put_bytes(const struct shown *s)
{
	put_done_of(s->out, STATUS_FIGURE_BYTES, live_count(s->row, s->span),
		    live_of(s->row, s->span));
}

static void put_bandwidth(const struct shown *s)
{
	double per_sec = live_per_sec(s->row, s->span);

	if (!isnan(per_sec))
		status_figure_rate(s->out, per_sec);
}

static void put_operations(const struct shown *s)
{
	uint64_t all = *(const uint64_t *)live_now(s->row, s->span);
	double per_sec = live_per_sec(s->row, s->span);

	if (all > 0 && !isnan(per_sec))
		put_iops(s->out, per_sec);
}

static void put_share(const struct shown *s)
{
	double percent = live_percent(s->row, s->span);

	if (!isnan(percent))
		snprintf(s->out, STATUS_FIGURE_BYTES, "%.1f%%", percent);
}

static void put_percent(const struct shown *s)
{
	double percent = live_percent(s->row, s->span);

	if (!isnan(percent))
		snprintf(s->out, STATUS_FIGURE_BYTES, "%.0f%%", percent);
}

static void put_seconds(const struct shown *s)
{
	snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64 " s",
		 live_count(s->row, s->span) / NS_PER_S);
}

static void put_left(const struct shown *s)
{
	uint64_t ns = live_count(s->row, s->span);
	uint64_t seconds = ns / NS_PER_S;

	if (ns == UINT64_MAX)
		return;
	if (seconds < 60)
		snprintf(s->out, STATUS_FIGURE_BYTES, "%" PRIu64 "s", seconds);
	else
		units_human_time(s->out, seconds * NS_PER_S);
}

static void put_p99(const struct shown *s)
{
	if (!live_distribution(s->row, s->span, s->scratch))
		return;
	double ms = (double)hist_percentile(s->scratch, 99) / 1e6;
	snprintf(s->out, STATUS_FIGURE_BYTES, "%.*f ms",
		 ms < 0.995  ? 3
		 : ms < 9.95 ? 2
			     : ms < 99.5,
		 ms);
}

static void (*const show[])(const struct shown *s) = {
	[LIVE_AS_TEXT] = status_figure_put_text,
	[LIVE_AS_CHOICE] = status_figure_put_choice,
	[LIVE_AS_NUMBER] = put_number,
	[LIVE_AS_COUNT] = put_count,
	[LIVE_AS_ERRORS] = put_errors,
	[LIVE_AS_BYTES] = put_bytes,
	[LIVE_AS_BANDWIDTH] = put_bandwidth,
	[LIVE_AS_OPERATIONS] = put_operations,
	[LIVE_AS_SHARE] = put_share,
	[LIVE_AS_PERCENT] = put_percent,
	[LIVE_AS_SECONDS] = put_seconds,
	[LIVE_AS_LEFT] = put_left,
	[LIVE_AS_P99] = put_p99,
};

static size_t append_figure(char out[STATUS_FIGURE_BYTES], size_t at, const char *text, size_t len)
{
	if (len > STATUS_FIGURE_BYTES - 1 - at)
		len = STATUS_FIGURE_BYTES - 1 - at;
	memcpy(out + at, text, len);
	out[at + len] = '\0';
	return at + len;
}

/*
 * The figure of live_fields that this name stands for, which ends at `len`, as its row says it is
 * shown: "118/500", "14.9 GiB/s". False where it has no value. `scratch` is for percentiles, and
 * may be NULL where none is asked for.
 */
static bool status_figure(const char *name, size_t len, const struct live_span *span,
			  struct hist *scratch, char out[STATUS_FIGURE_BYTES])
{
	struct shown s = { live_find(name, len, span), span, scratch, out };

	out[0] = '\0';
	if (s.row)
		show[s.row->show](&s);
	return out[0] != '\0';
}

bool status_figures(const char *text, const struct live_span *span, struct hist *scratch,
		    char out[STATUS_FIGURE_BYTES])
{
	char figure[STATUS_FIGURE_BYTES];
	size_t at = 0;

	while (*text) {
		size_t len = strcspn(text, "{");

		at = append_figure(out, at, text, len);
		text += len;
		if (!*text)
			break;
		len = strcspn(++text, "}");
		if (!status_figure(text, len, span, scratch, figure))
			return false;
		at = append_figure(out, at, figure, strlen(figure));
		text += len + 1;
	}
	return true;
}

#define COLUMNS STATUS_COLUMNS
#define WAITING_NS (2 * NS_PER_S)
#define OUTSTANDING_NS (10 * NS_PER_S)
#define PARTS 16 /* more than are at one time */
#define PART_BYTES STATUS_FIGURE_BYTES

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

/* What is to be said of a job. */
enum at {
	AT_WAIT = 1,
	AT_PREPARE = 2,
	AT_LAYOUT = 4,
	AT_DROP = 8,
	AT_TRAIN = 16,
	AT_STALL = 32, /* a training that does not get on */
	AT_IO = 64,
	AT_SAVE = 128,
	AT_PAUSE = 256,
	AT_SAVED = 512,
	AT_HANG = 1024, /* in one operation, whatever it is at */
	AT_DONE = 2048,
};
#define AT_FILES (AT_PREPARE | AT_LAYOUT)
#define AT_TRAINING (AT_TRAIN | AT_STALL)
#define AT_CHECKPOINTS (AT_SAVE | AT_PAUSE | AT_SAVED)

/*
 * The parts of a line in their order. A figure of live_fields stands in braces, as its row says it
 * is shown; where one has no value the part is left out. No text is the operation that hangs.
 */
struct piece {
	unsigned at; /* any of these */
	unsigned worth;
	const char *text;
};

static const struct piece pieces[] = {
	{ AT_PREPARE, 0, "prepare" },
	{ AT_LAYOUT, 0, "layout" },
	{ AT_FILES, 0, " {files} files" },
	{ AT_FILES, 1, "{prepared_bytes}" },
	{ AT_FILES, 3, "{io_bytes}" },
	{ ~(unsigned)AT_FILES, 0, "{job}" },
	{ AT_WAIT, 0, "waits for its start" },
	{ AT_DROP, 0, "drops its files from the page cache" },
	{ AT_DONE, 0, "done" },
	{ AT_TRAINING | AT_HANG, 5, "epoch {epoch}" },
	{ AT_HANG, 0, NULL },
	{ AT_TRAINING, 1, "step {step}" },
	{ AT_IO, 0, "r={read_ios} IOPS {read_bytes}" },
	{ AT_IO, 0, "w={write_ios} IOPS {write_bytes}" },
	{ AT_TRAINING | AT_IO, 0, "{errors}" },
	/* Beside the training, or it stands still for it. */
	{ AT_TRAINING, 4, "checkpoint {checkpoint} {checkpoint_done}" },
	{ AT_CHECKPOINTS, 0, "checkpoint {checkpoint}" },
	{ AT_SAVE, 1, "{checkpoint_done}" },
	{ AT_SAVE, 3, "{checkpoint_bytes}" },
	{ AT_PAUSE, 1, "pause" },
	{ AT_SAVED, 1, "done" },
	{ AT_TRAIN, 0, "{sample_bytes}" },
	{ AT_STALL, 0, "waiting {waiting}" },
	{ AT_TRAINING, 4, "AU {au_percent}" },
	{ AT_TRAINING, 4, "hits {hit_percent}" },
	{ AT_TRAINING, 3, "stall p99 {stall}" },
	{ AT_IO, 1, "{done_percent}" },
	{ AT_FILES | AT_TRAINING | AT_IO | AT_CHECKPOINTS, 2, "left {left}" },
	{ 0 },
};

static const struct piece short_pieces[] = {
	{ ~0u, 0, "{job}" },
	{ AT_HANG, 0, NULL },
	{ AT_IO, 0, "r={read_ios} IOPS {read_bytes}" },
	{ AT_IO, 0, "w={write_ios} IOPS {write_bytes}" },
	{ AT_CHECKPOINTS, 0, "checkpoint {checkpoint}" },
	{ AT_SAVE, 0, "{checkpoint_bytes}" },
	{ AT_TRAIN, 0, "{sample_bytes}" },
	{ AT_STALL, 0, "waiting {waiting}" },
	{ ~0u, 0, "AU {au_percent}" },
	{ ~0u, 0, "{errors}" },
	{ 0 },
};

static bool is_hanging(const struct live *now)
{
	return now->oldest.start_ns != 0 && now->now_ns >= now->oldest.start_ns + OUTSTANDING_NS;
}

static enum at where(const struct live *now)
{
	bool is_last = now->checkpoint == now->checkpoints;

	switch (now->phase) {
	case LIVE_WAIT:
		return AT_WAIT;
	case LIVE_PREPARE:
		return now->work == LIVE_IO ? AT_LAYOUT : AT_PREPARE;
	case LIVE_DROP:
		return AT_DROP;
	case LIVE_DONE:
		return AT_DONE;
	default:
		break;
	}
	if (is_hanging(now))
		return AT_HANG;
	if (now->phase == LIVE_IO)
		return AT_IO;
	if (now->phase == LIVE_TRAIN)
		return now->waiting_ns > WAITING_NS ? AT_STALL : AT_TRAIN;
	return now->is_checkpointing ? AT_SAVE : is_last ? AT_SAVED : AT_PAUSE;
}

/* The end of a path names the file; its beginning goes first. */
static void put_hanging(const struct live *now, size_t room, char out[PART_BYTES])
{
	const char *path = now->oldest.path;
	size_t len = strlen(path);
	int head = snprintf(out, PART_BYTES, "%s for %" PRIu64 " s: ", opstat_name(now->oldest.op),
			    (now->now_ns - now->oldest.start_ns) / NS_PER_S);
	bool is_whole;

	if (room > PART_BYTES - 1)
		room = PART_BYTES - 1;
	room = room > (size_t)head + 16 ? room - (size_t)head : 16;
	is_whole = len <= room;
	if (!is_whole)
		path += len - (room - 3);
	while (!is_whole && is_inside(*path))
		path++;
	snprintf(out + head, PART_BYTES - (size_t)head, "%s%s", is_whole ? "" : "...", path);
}

static void compose(struct line *l, bool is_short, const struct live_span *span,
		    struct hist *scratch)
{
	const struct piece *from = is_short ? short_pieces : pieces;
	size_t room = is_short ? COLUMNS / 2 : COLUMNS - 10;
	enum at at = where(span->now);
	char text[PART_BYTES];

	for (l->count = 0; from->at; from++) {
		struct part *p = &l->parts[l->count];

		if (!(from->at & at))
			continue;
		assert(l->count < PARTS);
		if (!from->text)
			put_hanging(span->now, room, text);
		else if (!status_figures(from->text, span, scratch, text))
			continue;
		/* Names and paths come from users: none moves the cursor. */
		printable_copy(p->text, sizeof(p->text), text);
		p->worth = from->worth;
		if (!is_short)
			room -= strlen(p->text) + 2;
		l->count++;
	}
}

static size_t status_line_join(const struct line *l, const char *between, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < l->count && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? between : "",
					l->parts[i].text);
	return len;
}

static bool drop_least(struct line *l)
{
	unsigned least = PARTS;

	for (unsigned i = 0; i < l->count; i++)
		if (l->parts[i].worth > 0 &&
		    (least == PARTS || l->parts[i].worth < l->parts[least].worth))
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
	while (status_line_join(l, "  ", out, size) > columns &&
	       status_line_join(l, " ", out, size) > columns && drop_least(l))
		;
	if (strlen(out) <= columns)
		return;
	while (columns && is_inside(out[columns]))
		columns--;
	out[columns] = '\0';
}

static uint64_t left_by(const char *figure, const struct live_span *s, double left)
{
	const struct live_field *f = live_find(figure, strlen(figure), s);
	double per_sec = f ? live_per_sec(f, s) : 0;

	if (!(per_sec > 0))
		return UINT64_MAX;
	return left > 0 ? (uint64_t)(left / per_sec * (double)NS_PER_S) : 0;
}

/* By the rate of the last seconds, where nothing better is known. */
static uint64_t status_line_left_ns(const struct live_span *s)
{
	const struct live *now = s->now;
	double all = (double)now->checkpoints * (double)now->checkpoint_bytes;

	if (now->left_ns != UINT64_MAX)
		return now->left_ns;
	if (now->phase == LIVE_PREPARE && now->bytes_total >= now->bytes_done)
		return left_by("io_bytes", s, (double)(now->bytes_total - now->bytes_done));
	if (now->phase == LIVE_CHECKPOINT && now->checkpoints > 0)
		return left_by("checkpoint_bytes", s, all - (double)now->checkpoint_moved);
	return UINT64_MAX;
}

/* Of the time that the phase will have taken. */
static double done_percent(const struct live *now, uint64_t begin_ns)
{
	double done = (double)(now->now_ns - begin_ns);

	if (now->left_ns == UINT64_MAX || now->now_ns <= begin_ns)
		return (double)NAN;
	return 100 * done / (done + (double)now->left_ns);
}

void status_line_estimate(struct live *l, const struct status_line_past *past)
{
	const struct live_span span = { l, past->then, NULL };

	l->left_ns = status_line_left_ns(&span);
	l->done_percent = done_percent(l, past->begin_ns);
}

void status_line(const struct live *now, const struct status_line_past *past, size_t columns,
		 char *out, size_t size)
{
	struct live shown = *now;
	const struct live_span span = { &shown, past->then, NULL };
	struct line l;

	status_line_estimate(&shown, past);
	compose(&l, false, &span, past->scratch);
	fit(&l, columns, out, size);
}

void status_line_short(const struct live *now, const struct live *then, char *out, size_t size)
{
	const struct live_span span = { now, then, NULL };
	struct line l;

	compose(&l, true, &span, NULL);
	status_line_join(&l, " ", out, size);
}
