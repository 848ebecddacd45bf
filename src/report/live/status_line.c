/* SPDX-License-Identifier: Apache-2.0 */
/* status_line.c - the status line of one job, and the text of its figures. */
#include "report/live/live_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
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

/* The input of a formatter. A figure without a value leaves `out` empty. */
struct status_figure {
	const struct live_field *row;
	const struct live_span *span;
	struct hist *scratch;
	char *out;
};

static void format_text(const struct status_figure *f)
{
	snprintf(f->out, STATUS_FIGURE_BYTES, "%s",
		 *(const char *const *)live_now(f->row, f->span));
}

static void format_choice(const struct status_figure *f)
{
	int value = *(const int *)live_now(f->row, f->span);

	for (const struct mlgen_choice *c = f->row->field.choices; c->name; c++)
		if (c->value == value)
			snprintf(f->out, STATUS_FIGURE_BYTES, "%s", c->name);
}

static void format_number(const struct status_figure *f)
{
	uint64_t n = live_count(f->row, f->span), of = live_total(f->row, f->span);

	if (of > 0)
		snprintf(f->out, STATUS_FIGURE_BYTES, "%" PRIu64 "/%" PRIu64, n, of);
	else
		snprintf(f->out, STATUS_FIGURE_BYTES, "%" PRIu64, n);
}

static void format_count(const struct status_figure *f)
{
	char n[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];

	units_human_count(n, live_count(f->row, f->span));
	units_human_count(of, live_total(f->row, f->span));
	snprintf(f->out, STATUS_FIGURE_BYTES, "%s/%s", n, of);
}

static void format_errors(const struct status_figure *f)
{
	uint64_t errors = *(const uint64_t *)live_now(f->row, f->span);
	char n[UNITS_TEXT_BYTES];

	if (errors)
		snprintf(f->out, STATUS_FIGURE_BYTES, "%s error%s", units_human_count(n, errors),
			 errors == 1 ? "" : "s");
}

static void format_bytes(const struct status_figure *f)
{
	uint64_t total = live_total(f->row, f->span);
	char whole[UNITS_TEXT_BYTES];
	double power = 1;

	while ((double)total / power >= 1023.5)
		power *= 1024;
	double v = (double)live_count(f->row, f->span) / power;
	units_human_bytes(whole, (double)total);
	snprintf(f->out, STATUS_FIGURE_BYTES, "%.*f of %s",
		 power < 2    ? 0
		 : v < 99.995 ? 2
			      : v < 999.95,
		 v, whole);
}

static void format_bandwidth(const struct status_figure *f)
{
	double per_sec = live_per_sec(f->row, f->span);

	if (!isnan(per_sec))
		status_figure_rate(f->out, per_sec);
}

/* "203k": three digits, as for rates. */
static void format_operations(const struct status_figure *f)
{
	static const char units[] = { 0, 'k', 'M' };
	uint64_t all = *(const uint64_t *)live_now(f->row, f->span);
	double per_sec = live_per_sec(f->row, f->span);
	unsigned unit = 0;

	if (all == 0 || isnan(per_sec))
		return;
	while (per_sec >= 999.5 && unit < 2) {
		per_sec /= 1000;
		unit++;
	}
	int decimals = unit == 0 || per_sec >= 99.95 ? 0 : per_sec >= 9.995 ? 1 : 2;
	char suffix[2] = { units[unit], '\0' };
	snprintf(f->out, UNITS_TEXT_BYTES, "%.*f%s", decimals, per_sec, suffix);
}

static void format_share(const struct status_figure *f)
{
	double percent = live_percent(f->row, f->span);

	if (!isnan(percent))
		snprintf(f->out, STATUS_FIGURE_BYTES, "%.1f%%", percent);
}

static void format_percent(const struct status_figure *f)
{
	double percent = live_percent(f->row, f->span);

	if (!isnan(percent))
		snprintf(f->out, STATUS_FIGURE_BYTES, "%.0f%%", percent);
}

static void format_seconds(const struct status_figure *f)
{
	snprintf(f->out, STATUS_FIGURE_BYTES, "%" PRIu64 " s",
		 live_count(f->row, f->span) / NS_PER_S);
}

static void format_left(const struct status_figure *f)
{
	uint64_t ns = live_count(f->row, f->span);
	uint64_t seconds = ns / NS_PER_S;

	if (ns == UINT64_MAX)
		return;
	if (seconds < 60)
		snprintf(f->out, STATUS_FIGURE_BYTES, "%" PRIu64 "s", seconds);
	else
		units_human_time(f->out, seconds * NS_PER_S);
}

static void format_p99(const struct status_figure *f)
{
	if (!live_distribution(f->row, f->span, f->scratch))
		return;
	double ms = (double)hist_percentile(f->scratch, 99) / 1e6;
	snprintf(f->out, STATUS_FIGURE_BYTES, "%.*f ms",
		 ms < 0.995  ? 3
		 : ms < 9.95 ? 2
			     : ms < 99.5,
		 ms);
}

static void (*const formats[])(const struct status_figure *f) = {
	[LIVE_AS_TEXT] = format_text,
	[LIVE_AS_CHOICE] = format_choice,
	[LIVE_AS_NUMBER] = format_number,
	[LIVE_AS_COUNT] = format_count,
	[LIVE_AS_ERRORS] = format_errors,
	[LIVE_AS_BYTES] = format_bytes,
	[LIVE_AS_BANDWIDTH] = format_bandwidth,
	[LIVE_AS_OPERATIONS] = format_operations,
	[LIVE_AS_SHARE] = format_share,
	[LIVE_AS_PERCENT] = format_percent,
	[LIVE_AS_SECONDS] = format_seconds,
	[LIVE_AS_LEFT] = format_left,
	[LIVE_AS_P99] = format_p99,
};

/* Append a text, up to the size of `out`. Returns the new length. */
static size_t append_text(char out[STATUS_FIGURE_BYTES], size_t at, const char *text, size_t len)
{
	if (len > STATUS_FIGURE_BYTES - 1 - at)
		len = STATUS_FIGURE_BYTES - 1 - at;
	memcpy(out + at, text, len);
	out[at + len] = '\0';
	return at + len;
}

/* `scratch` is needed for percentiles; it may be NULL if `text` has none. */
bool status_figures(const char *text, const struct live_span *span, struct hist *scratch,
		    char out[STATUS_FIGURE_BYTES])
{
	char value[STATUS_FIGURE_BYTES];
	size_t at = 0;

	while (*text) {
		size_t len = strcspn(text, "{");

		at = append_text(out, at, text, len);
		text += len;
		if (!*text)
			break;
		len = strcspn(++text, "}");
		const struct status_figure f = { live_find(text, len, span), span, scratch, value };
		value[0] = '\0';
		if (f.row)
			formats[f.row->show](&f);
		if (value[0] == '\0')
			return false;
		at = append_text(out, at, value, strlen(value));
		text += len + 1;
	}
	return true;
}

#define WAITING_NS (2 * NS_PER_S)
#define OUTSTANDING_NS (10 * NS_PER_S)
#define PARTS 16 /* more parts than any line has */

/* The parts of a line, from left to right. */
struct status_part {
	char text[STATUS_FIGURE_BYTES];
	unsigned priority; /* the lowest is dropped first; 0 is never dropped */
};

struct status_line {
	struct status_part parts[PARTS];
	unsigned count;
};

/* True for the second and later bytes of a letter in UTF-8, before which no text is cut. */
static bool is_inside_letter(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Activities of a job that a line can show. */
enum at {
	AT_WAIT = 1,
	AT_PREPARE = 2,
	AT_LAYOUT = 4,
	AT_DROP = 8,
	AT_TRAIN = 16,
	AT_STALL = 32, /* training that waits for data */
	AT_IO = 64,
	AT_SAVE = 128,
	AT_PAUSE = 256,
	AT_SAVED = 512,
	AT_HANG = 1024, /* an operation has been outstanding for long, in any activity */
	AT_DONE = 2048,
};
#define AT_FILES (AT_PREPARE | AT_LAYOUT)
#define AT_TRAINING (AT_TRAIN | AT_STALL)
#define AT_CHECKPOINTS (AT_SAVE | AT_PAUSE | AT_SAVED)

/*
 * The templates of parts, in the order of a line. A name in braces is a figure of live_fields,
 * formatted as its row says; a part with a figure that has no value is left out. A part with text
 * NULL shows the operation that hangs.
 */
struct status_piece {
	unsigned at; /* activities that show this part */
	unsigned priority;
	const char *text;
};

static const struct status_piece pieces[] = {
	{ AT_PREPARE, 0, "prepare" },
	{ AT_LAYOUT, 0, "layout" },
	{ AT_FILES, 0, " {files} files" },
	{ AT_FILES, 1, "{prepared_bytes}" },
	{ AT_FILES, 3, "{io_bytes}" },
	{ ~(unsigned)AT_FILES, 0, "{job}" },
	{ AT_WAIT, 0, "waiting to start" },
	{ AT_DROP, 0, "dropping its files from the page cache" },
	{ AT_DONE, 0, "done" },
	{ AT_TRAINING | AT_HANG, 5, "epoch {epoch}" },
	{ AT_HANG, 0, NULL },
	{ AT_TRAINING, 1, "step {step}" },
	{ AT_IO, 0, "r={read_ios} IOPS {read_bytes}" },
	{ AT_IO, 0, "w={write_ios} IOPS {write_bytes}" },
	{ AT_TRAINING | AT_IO, 0, "{errors}" },
	/* A checkpoint during training, whether or not training pauses for it. */
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

static const struct status_piece short_pieces[] = {
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

static enum at activity_of(const struct live *now)
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
	if (now->oldest.start_ns != 0 && now->now_ns >= now->oldest.start_ns + OUTSTANDING_NS)
		return AT_HANG;
	if (now->phase == LIVE_IO)
		return AT_IO;
	if (now->phase == LIVE_TRAIN)
		return now->waiting_ns > WAITING_NS ? AT_STALL : AT_TRAIN;
	return now->is_checkpointing ? AT_SAVE : is_last ? AT_SAVED : AT_PAUSE;
}

/* A long path is cut at the start, because its end names the file. */
static void format_hanging(const struct live *now, size_t room, char out[STATUS_FIGURE_BYTES])
{
	const char *path = now->oldest.path;
	size_t len = strlen(path);
	int head = snprintf(out, STATUS_FIGURE_BYTES,
			    "%s for %" PRIu64 " s: ", opstat_name(now->oldest.op),
			    (now->now_ns - now->oldest.start_ns) / NS_PER_S);

	if (room > STATUS_FIGURE_BYTES - 1)
		room = STATUS_FIGURE_BYTES - 1;
	room = room > (size_t)head + 16 ? room - (size_t)head : 16;
	bool is_whole = len <= room;
	if (!is_whole)
		path += len - (room - 3);
	while (!is_whole && is_inside_letter(*path))
		path++;
	snprintf(out + head, STATUS_FIGURE_BYTES - (size_t)head, "%s%s", is_whole ? "" : "...",
		 path);
}

static void compose(struct status_line *l, bool is_short, const struct live_span *span,
		    struct hist *scratch)
{
	const struct status_piece *from = is_short ? short_pieces : pieces;
	size_t room = is_short ? STATUS_COLUMNS / 2 : STATUS_COLUMNS - 10;
	enum at at = activity_of(span->now);
	char text[STATUS_FIGURE_BYTES];

	for (l->count = 0; from->at; from++) {
		struct status_part *p = &l->parts[l->count];

		if (!(from->at & at))
			continue;
		assert(l->count < PARTS);
		if (!from->text)
			format_hanging(span->now, room, text);
		else if (!status_figures(from->text, span, scratch, text))
			continue;
		/* Names and paths come from users; escape what would move the cursor. */
		printable_copy(p->text, sizeof(p->text), text);
		p->priority = from->priority;
		if (!is_short)
			room -= strlen(p->text) + 2;
		l->count++;
	}
}

static size_t status_line_join(const struct status_line *l, const char *between, char *out,
			       size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < l->count && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? between : "",
					l->parts[i].text);
	return len;
}

static bool drop_least(struct status_line *l)
{
	unsigned least = PARTS;

	for (unsigned i = 0; i < l->count; i++)
		if (l->parts[i].priority > 0 &&
		    (least == PARTS || l->parts[i].priority < l->parts[least].priority))
			least = i;
	if (least == PARTS)
		return false;
	memmove(&l->parts[least], &l->parts[least + 1],
		(l->count - least - 1) * sizeof(l->parts[0]));
	l->count--;
	return true;
}

/* The time in which a counter grows by `left` at its present rate; UINT64_MAX = unknown. */
static uint64_t time_for(const char *figure, const struct live_span *s, double left)
{
	const struct live_field *f = live_find(figure, strlen(figure), s);
	double per_sec = f ? live_per_sec(f, s) : 0;

	if (!(per_sec > 0))
		return UINT64_MAX;
	return left > 0 ? (uint64_t)(left / per_sec * (double)NS_PER_S) : 0;
}

/* The time that is left, as the job itself estimates or, if it does not, by the rate of the last
 * seconds. */
static uint64_t status_line_left_ns(const struct live_span *s)
{
	const struct live *now = s->now;
	double all = (double)now->checkpoints * (double)now->checkpoint_bytes;

	if (now->left_ns != UINT64_MAX)
		return now->left_ns;
	if (now->phase == LIVE_PREPARE && now->bytes_total >= now->bytes_done)
		return time_for("io_bytes", s, (double)(now->bytes_total - now->bytes_done));
	if (now->phase == LIVE_CHECKPOINT && now->checkpoints > 0)
		return time_for("checkpoint_bytes", s, all - (double)now->checkpoint_moved);
	return UINT64_MAX;
}

void status_line_estimate(struct live *l, const struct status_baseline *base)
{
	const struct live_span span = { l, base->then, NULL };
	double done_ns = (double)(l->now_ns - base->begin_ns);

	l->left_ns = status_line_left_ns(&span);
	l->done_percent = l->left_ns == UINT64_MAX || l->now_ns <= base->begin_ns
				  ? (double)NAN
				  : 100 * done_ns / (done_ns + (double)l->left_ns);
}

void status_line(const struct live *now, const struct status_baseline *base, size_t columns,
		 char *out, size_t size)
{
	struct live shown = *now;
	const struct live_span span = { &shown, base->then, NULL };
	struct status_line l;

	status_line_estimate(&shown, base);
	compose(&l, false, &span, base->scratch);

	while (status_line_join(&l, "  ", out, size) > columns &&
	       status_line_join(&l, " ", out, size) > columns && drop_least(&l))
		;
	if (strlen(out) <= columns)
		return;
	while (columns && is_inside_letter(out[columns]))
		columns--;
	out[columns] = '\0';
}

void status_line_short(const struct live *now, const struct live *then, char *out, size_t size)
{
	const struct live_span span = { now, then, NULL };
	struct status_line l;

	compose(&l, true, &span, NULL);
	status_line_join(&l, " ", out, size);
}
