/* SPDX-License-Identifier: Apache-2.0 */
/* trace_iolog.c - a trace as the log that fio replays. */
#include "trace/trace_iolog.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/spill.h"
#include "base/util.h"
#include "trace/trace_number.h"

/* A length has 32 bits; what is longer is cut at a size that any buffer's alignment divides. */
#define PIECE_BYTES (UINT64_C(1) << 30)

/* Of a file: 0 = not met yet, else 1 and how often it is open. */
enum { FILE_CLOSED = 1 };
#define FILE_LEFT_OUT UINT32_MAX

struct writing {
	struct trace_ordered *o;
	FILE *to;
	struct trace_iolog_left *left;
	struct spill files;
	uint64_t first_ns;
	bool is_begun, has_failed;
	struct buf line;
};

static bool can_say(const char *name, size_t bytes)
{
	return bytes && bytes <= TRACE_IOLOG_NAME_MAX && strcspn(name, " \t\n\v\f\r") == bytes;
}

/* "TIME NAME ACTION", and the rest of the line. */
static void put_line(struct writing *w, const struct trace_record *r, const char *action)
{
	size_t bytes;
	const char *name = trace_ordered_name(w->o, r->file, &bytes);

	if (!w->is_begun)
		w->first_ns = r->start_ns;
	w->is_begun = true;
	buf_reset(&w->line);
	trace_number_put(&w->line, (r->start_ns - w->first_ns) / 1000);
	buf_addc(&w->line, ' ');
	buf_addn(&w->line, name, bytes);
	buf_addc(&w->line, ' ');
	buf_add(&w->line, action);
}

static void end_line(struct writing *w)
{
	buf_addc(&w->line, '\n');
	w->has_failed |= fwrite(w->line.s, 1, w->line.len, w->to) != w->line.len;
}

static void put_action(struct writing *w, const struct trace_record *r, const char *action)
{
	put_line(w, r, action);
	end_line(w);
}

static void put_extent(struct writing *w, const struct trace_record *r, const char *action,
		       uint64_t off, uint64_t bytes)
{
	put_line(w, r, action);
	buf_addc(&w->line, ' ');
	trace_number_put(&w->line, off);
	buf_addc(&w->line, ' ');
	trace_number_put(&w->line, bytes);
	end_line(w);
}

static uint32_t *state_of(struct writing *w, uint32_t file)
{
	return (uint32_t *)w->files.at + file;
}

/* Met for the first time: it is added, or left out for good. */
static void meet(struct writing *w, const struct trace_record *r)
{
	uint32_t *state = state_of(w, r->file);
	size_t bytes;
	const char *name = trace_ordered_name(w->o, r->file, &bytes);

	if (*state)
		return;
	if (can_say(name, bytes)) {
		*state = FILE_CLOSED;
		put_action(w, r, "add");
		return;
	}
	*state = FILE_LEFT_OUT;
	if (!w->left->files++)
		buf_addn(&w->left->first, name, bytes);
}

/* fio ends where a file is opened that is open. */
static void open_or_close(struct writing *w, const struct trace_record *r)
{
	uint32_t *state = state_of(w, r->file);
	bool opens = r->op == TRACE_OPEN;

	if (opens && *state < FILE_LEFT_OUT - 1)
		++*state;
	else if (!opens)
		--*state;
	if (*state == (opens ? FILE_CLOSED + 1 : FILE_CLOSED))
		put_action(w, r, opens ? "open" : "close");
	else
		w->left->nested++;
}

/* Its open may have been before the trace began. */
static void use(struct writing *w, const struct trace_record *r)
{
	uint32_t *state = state_of(w, r->file);

	if (*state != FILE_CLOSED)
		return;
	++*state;
	put_action(w, r, "open");
}

static void transfer(struct writing *w, const struct trace_record *r)
{
	const char *action = r->op == TRACE_READ ? "read" : "write";
	uint64_t left = (uint64_t)r->result, off = r->off;

	use(w, r);
	while (r->result > UINT32_MAX && left > PIECE_BYTES) {
		put_extent(w, r, action, off, PIECE_BYTES);
		off += PIECE_BYTES;
		left -= PIECE_BYTES;
	}
	put_extent(w, r, action, off, left);
}

static void sync_file(struct writing *w, const struct trace_record *r)
{
	use(w, r);
	put_extent(w, r, r->op == TRACE_FSYNC ? "sync" : "datasync", 0, 0);
}

static bool is_transfer(const struct trace_record *r)
{
	return r->op == TRACE_READ || r->op == TRACE_WRITE;
}

static bool is_known(unsigned op)
{
	return op == TRACE_OPEN || op == TRACE_CLOSE || op == TRACE_READ || op == TRACE_WRITE ||
	       op == TRACE_FSYNC || op == TRACE_FDATASYNC;
}

/* Where it is counted that cannot be said of itself; NULL = it can be. */
static uint64_t *left_out(struct writing *w, const struct trace_record *r)
{
	struct trace_iolog_left *left = w->left;
	uint64_t end;

	if (trace_is_marker(r->op))
		return &left->markers;
	if (!is_known(r->op))
		return &left->others;
	if (r->result < 0 || (is_transfer(r) && r->result == 0))
		return &left->failed;
	if (!r->file ||
	    (is_transfer(r) && __builtin_add_overflow(r->off, (uint64_t)r->result, &end)))
		return &left->unplaced;
	if (is_transfer(r) && (uint64_t)r->result > TRACE_IOLOG_MOST)
		return &left->too_long;
	/* Of an open that nobody has seen. */
	if (r->op == TRACE_CLOSE && *state_of(w, r->file) <= FILE_CLOSED)
		return &left->nested;
	return NULL;
}

static void put_record(struct writing *w, const struct trace_record *r)
{
	uint64_t *left;

	assert(w->left);
	left = left_out(w, r);
	if (!left) {
		meet(w, r);
		if (*state_of(w, r->file) == FILE_LEFT_OUT)
			left = &w->left->of_files;
	}
	if (left)
		++*left;
	else if (is_transfer(r))
		transfer(w, r);
	else if (r->op == TRACE_OPEN || r->op == TRACE_CLOSE)
		open_or_close(w, r);
	else
		sync_file(w, r);
}

int trace_iolog_write(struct trace_ordered *o, FILE *to, struct trace_iolog_left *left,
		      struct mlgen_err *err)
{
	struct writing w = { .o = o, .to = to, .left = left };
	const struct trace_record *r;
	int rc = 0;

	spill_need(&w.files, ((size_t)trace_ordered_names(o) + 1) * sizeof(uint32_t));
	w.has_failed = fputs("fio version 3 iolog\n", to) < 0;
	while (!w.has_failed && (rc = trace_ordered_next(o, &r, err)) > 0)
		put_record(&w, r);
	spill_free(&w.files);
	buf_fini(&w.line);
	return rc < 0 ? rc : 0;
}

static void tell_left(uint64_t count, const char *before, const char *what)
{
	if (count)
		log_note("%sleft out, since an iolog cannot say it: %" PRIu64 " %s", before, count,
			 what);
}

void trace_iolog_left_tell(const struct trace_iolog_left *left, const char *before)
{
	if (left->files)
		log_warn("%s%" PRIu64 " file%s cannot be named in an iolog, with %" PRIu64
			 " operation%s; a name has no blanks and at most %d bytes. The first: '%s'",
			 before, left->files, plural(left->files), left->of_files,
			 plural(left->of_files), TRACE_IOLOG_NAME_MAX, buf_str(&left->first));
	tell_left(left->unplaced, before, "whose file or offset is not known");
	tell_left(left->too_long, before, "of more than 1 TiB");
	tell_left(left->failed, before, "that failed or moved no byte");
	tell_left(left->nested, before,
		  "opens and closes of files that are so already, or stay so");
	tell_left(left->others, before, "that are no open, close, read, write or sync");
	tell_left(left->markers, before, "markers");
}

void trace_iolog_left_fini(struct trace_iolog_left *left)
{
	buf_fini(&left->first);
}

bool trace_iolog_is(const char *first, size_t bytes)
{
	static const char before[] = "fio version ", after[] = " iolog";
	const size_t digit = sizeof(before) - 1;

	return bytes >= TRACE_IOLOG_FIRST_BYTES && memcmp(first, before, digit) == 0 &&
	       first[digit] >= '0' && first[digit] <= '9' &&
	       memcmp(first + digit + 1, after, sizeof(after) - 1) == 0;
}
