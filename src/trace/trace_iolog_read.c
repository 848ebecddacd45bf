/* SPDX-License-Identifier: Apache-2.0 */
/* trace_iolog_read.c - a log that fio replays as a trace. */
#include "trace/trace_iolog.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "trace/trace_number.h"

enum action_kind {
	ACTION_ADD, /* names a file */
	ACTION_FILE,
	ACTION_SYNC,
	ACTION_EXTENT,
	ACTION_TRIM,
	ACTION_WAIT,
};

struct action {
	const char *name;
	enum action_kind kind;
	uint16_t op; /* enum trace_op */
};

static const struct action actions[] = {
	{ "add", ACTION_ADD, TRACE_NONE },
	{ "open", ACTION_FILE, TRACE_OPEN },
	{ "close", ACTION_FILE, TRACE_CLOSE },
	{ "read", ACTION_EXTENT, TRACE_READ },
	{ "write", ACTION_EXTENT, TRACE_WRITE },
	{ "sync", ACTION_SYNC, TRACE_FSYNC },
	{ "datasync", ACTION_SYNC, TRACE_FDATASYNC },
	{ "trim", ACTION_TRIM, TRACE_NONE },
	{ "wait", ACTION_WAIT, TRACE_NONE },
};

#define ACTION_NAMES "add, open, close, read, write, sync, datasync and trim"

enum { WORDS = 6 };
#define NS_PER_US 1000u
#define NS_PER_MS 1000000u

/* A line, taken apart. */
struct reading {
	struct trace_input *in;
	struct trace_fill *to;
	struct trace_iolog_read *what;
	struct mlgen_err *err;
	uint64_t line; /* number of it */
	char *word[WORDS];
	size_t bytes[WORDS];
	size_t count;
	uint64_t now_ns;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* At most WORDS; more are as many. */
static void trace_iolog_read_split(struct reading *r, struct buf *line)
{
	char *at = line->s, *end = line->s + line->len;

	r->count = 0;
	while (at < end && r->count < WORDS) {
		while (at < end && is_blank(*at))
			at++;
		char *word = at;

		while (at < end && !is_blank(*at))
			at++;
		if (at == word)
			return;
		r->word[r->count] = word;
		r->bytes[r->count++] = (size_t)(at - word);
		/* There is a byte behind the last one, too: the string's end. */
		*at++ = '\0';
	}
}

static int take_word(struct reading *r, const char *what, size_t word, uint64_t most, uint64_t *out)
{
	const char *wrong = trace_number_take(r->word[word], r->bytes[word], most, out);

	if (!wrong)
		return 0;
	return trace_input_refuse(r->in, r->line, r->err,
				  "the %s '%.40s' %s; it is a number from 0", what, r->word[word],
				  wrong);
}

static const struct action *action_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

static int refuse_words(struct reading *r, const struct action *a)
{
	bool is_file = a->kind == ACTION_ADD || a->kind == ACTION_FILE;

	return trace_input_refuse(
		r->in, r->line, r->err, "%zu words; of '%s' a line of version %u is %sFILE %s%s",
		r->count, a->name, r->what->version, r->what->version == 3 ? "MICROSECONDS " : "",
		a->name, is_file ? "" : " OFFSET LENGTH");
}

static int add_record(struct reading *r, const struct action *a, size_t file)
{
	struct trace_record to = { .start_ns = r->now_ns,
				   .duration_ns = TRACE_UNKNOWN,
				   .off = TRACE_UNKNOWN,
				   .cpu_ns = TRACE_UNKNOWN,
				   .op = a->op };
	int rc = 0;

	if (a->op == TRACE_OPEN)
		to.len_bytes = TRACE_UNKNOWN;
	if (a->kind == ACTION_EXTENT) {
		rc = take_word(r, "offset", file + 2, INT64_MAX, &to.off);
		if (rc == 0)
			rc = take_word(r, "length", file + 3, TRACE_IOLOG_MOST, &to.len_bytes);
		to.result = (int64_t)to.len_bytes;
	}
	if (rc < 0)
		return rc;
	to.file = trace_fill_name(r->to, r->word[file], r->bytes[file]);
	return trace_fill_add(r->to, &to, r->err);
}

/* fio waits until so many milliseconds from its start, though its manual says microseconds from the
 * wait before. */
static int take_wait(struct reading *r)
{
	uint64_t until_ms = 0;
	int rc;

	if (r->what->version == 3)
		return trace_input_refuse(r->in, r->line, r->err,
					  "version 3 has a time in each line, and no wait");
	rc = take_word(r, "time", 2, TRACE_UNKNOWN / NS_PER_MS - 1, &until_ms);
	r->now_ns = u64_max(r->now_ns, until_ms * NS_PER_MS);
	r->what->waits++;
	return rc;
}

static int take_action(struct reading *r, const struct action *a, size_t file)
{
	bool is_file = a->kind == ACTION_ADD || a->kind == ACTION_FILE;

	if (a->kind == ACTION_WAIT && r->what->version == 3)
		return take_wait(r);
	if (r->count != file + (is_file ? 2 : 4))
		return refuse_words(r, a);
	if (a->kind == ACTION_WAIT)
		return take_wait(r);
	if (a->kind == ACTION_ADD || a->kind == ACTION_TRIM) {
		r->what->trims += a->kind == ACTION_TRIM;
		return 0;
	}
	return add_record(r, a, file);
}

static int take_line(struct reading *r)
{
	size_t file = r->what->version == 3;
	const struct action *a;
	int rc = 0;

	if (!r->count)
		return 0;
	if (r->count < file + 2)
		return trace_input_refuse(r->in, r->line, r->err,
					  "half a line; of version %u one is %sFILE ACTION, and of "
					  "a read or write OFFSET LENGTH behind it",
					  r->what->version, file ? "MICROSECONDS " : "");
	if (file)
		rc = take_word(r, "time", 0, TRACE_UNKNOWN / NS_PER_US - 1, &r->now_ns);
	if (rc < 0)
		return rc;
	if (file)
		r->now_ns *= NS_PER_US;
	a = action_named(r->word[file + 1]);
	return a ? take_action(r, a, file)
		 : trace_input_refuse(r->in, r->line, r->err,
				      "'%.40s' is no action of an iolog; they are " ACTION_NAMES,
				      r->word[file + 1]);
}

/* 1, or -errno. */
static int read_version(struct reading *r, struct buf *line)
{
	bool is_cut;
	int rc = trace_input_line(r->in, line, &is_cut, r->err);

	if (rc < 0)
		return rc;
	if (rc > 0 && strcmp(buf_str(line), "fio version 2 iolog") == 0)
		r->what->version = 2;
	if (rc > 0 && strcmp(buf_str(line), "fio version 3 iolog") == 0)
		r->what->version = 3;
	if (r->what->version)
		return 1;
	return trace_input_refuse(r->in, 1, r->err,
				  "is no iolog of fio's that is known; the first line of one is "
				  "'fio version 3 iolog', or 2");
}

int trace_iolog_read(struct trace_input *in, struct trace_fill *to, struct trace_iolog_read *what,
		     struct mlgen_err *err)
{
	struct reading r = { .in = in, .to = to, .what = what, .err = err };
	struct buf line = { 0 };
	int rc = read_version(&r, &line);

	while (rc > 0) {
		r.line = in->line;
		rc = trace_input_line(in, &line, &what->is_cut, err);
		if (rc <= 0)
			break;
		trace_iolog_read_split(&r, &line);
		rc = take_line(&r);
		/* A part of a line, of a program that was stopped. */
		if (rc == -EINVAL && what->is_cut) {
			*err = (struct mlgen_err){ 0 };
			rc = 0;
			break;
		}
		rc = rc < 0 ? rc : 1;
	}
	buf_fini(&line);
	return rc;
}

void trace_iolog_tell(const char *name, const struct trace_iolog_read *what)
{
	if (what->waits)
		log_note("%s: a wait is taken as fio replays it, until so many milliseconds from "
			 "the beginning; fio's manual has microseconds from the one before. "
			 "Version 3 has times",
			 name);
	if (what->trims)
		log_note("%s: %" PRIu64 " trim%s left out; a trace has none", name, what->trims,
			 plural(what->trims));
}
