/* SPDX-License-Identifier: Apache-2.0 */
/* status_line.c - what the status line says of one job. */
#include "report/status_line.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/util.h"
#include "report/status_figure.h"
#include "stat/opstat.h"

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
