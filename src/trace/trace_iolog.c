/* SPDX-License-Identifier: Apache-2.0 */
/* trace_iolog.c - read and write traces as fio's iolog. */
#include "trace/trace_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/files.h"
#include "base/log.h"
#include "base/util.h"

/* Lengths have 32 bits. Longer transfers are split at a size that any buffer alignment divides. */
#define PIECE_BYTES (UINT64_C(1) << 30)

/* State of a file: 0 = not seen yet, FILE_LEFT_OUT, or FILE_CLOSED plus the number of opens. */
enum { FILE_CLOSED = 1 };
#define FILE_LEFT_OUT UINT32_MAX

struct iolog_writer {
	struct trace_ordered *o;
	FILE *to;
	struct trace_iolog_omitted *left;
	struct spill files;
	uint64_t first_ns;
	bool is_begun, has_failed;
	struct buf line;
};

/* Begin a line with "TIME NAME ACTION". */
static void begin_line(struct iolog_writer *w, const struct trace_record *r, const char *action)
{
	size_t bytes;
	const char *name = trace_ordered_name(w->o, r->file, &bytes);

	if (!w->is_begun)
		w->first_ns = r->start_ns;
	w->is_begun = true;
	buf_reset(&w->line);
	trace_number_append(&w->line, (r->start_ns - w->first_ns) / 1000);
	buf_addc(&w->line, ' ');
	buf_addn(&w->line, name, bytes);
	buf_addc(&w->line, ' ');
	buf_add(&w->line, action);
}

static void end_line(struct iolog_writer *w)
{
	buf_addc(&w->line, '\n');
	w->has_failed |= fwrite(w->line.s, 1, w->line.len, w->to) != w->line.len;
}

static void write_action(struct iolog_writer *w, const struct trace_record *r, const char *action)
{
	begin_line(w, r, action);
	end_line(w);
}

static void write_extent(struct iolog_writer *w, const struct trace_record *r, const char *action,
			 uint64_t off, uint64_t bytes)
{
	begin_line(w, r, action);
	buf_addc(&w->line, ' ');
	trace_number_append(&w->line, off);
	buf_addc(&w->line, ' ');
	trace_number_append(&w->line, bytes);
	end_line(w);
}

static uint32_t *state_of(struct iolog_writer *w, uint32_t file)
{
	return (uint32_t *)w->files.at + file;
}

/* Add a file that is seen for the first time, or mark it as left out. */
static void add_file(struct iolog_writer *w, const struct trace_record *r)
{
	uint32_t *state = state_of(w, r->file);
	size_t bytes;
	const char *name = trace_ordered_name(w->o, r->file, &bytes);

	if (*state)
		return;
	if (bytes && bytes <= TRACE_IOLOG_NAME_MAX && strcspn(name, " \t\n\v\f\r") == bytes) {
		*state = FILE_CLOSED;
		write_action(w, r, "add");
		return;
	}
	*state = FILE_LEFT_OUT;
	if (!w->left->files++)
		buf_addn(&w->left->first, name, bytes);
}

/* Open a file that is used while closed: the trace may have begun after its open. */
static void ensure_open(struct iolog_writer *w, const struct trace_record *r)
{
	uint32_t *state = state_of(w, r->file);

	if (*state != FILE_CLOSED)
		return;
	++*state;
	write_action(w, r, "open");
}

static bool is_transfer(const struct trace_record *r)
{
	return r->op == TRACE_READ || r->op == TRACE_WRITE;
}

/* The counter of a record that an iolog cannot express; NULL = it can. */
static uint64_t *omission_of(struct iolog_writer *w, const struct trace_record *r)
{
	struct trace_iolog_omitted *left = w->left;
	uint64_t end;

	if (trace_is_marker(r->op))
		return &left->markers;
	if (!is_transfer(r) && r->op != TRACE_OPEN && r->op != TRACE_CLOSE &&
	    r->op != TRACE_FSYNC && r->op != TRACE_FDATASYNC)
		return &left->others;
	if (r->result < 0 || (is_transfer(r) && r->result == 0))
		return &left->failed;
	if (!r->file ||
	    (is_transfer(r) && __builtin_add_overflow(r->off, (uint64_t)r->result, &end)))
		return &left->unplaced;
	if (is_transfer(r) && (uint64_t)r->result > TRACE_IOLOG_BYTES_MAX)
		return &left->too_long;
	/* The open is not in the trace. */
	if (r->op == TRACE_CLOSE && *state_of(w, r->file) <= FILE_CLOSED)
		return &left->nested;
	return NULL;
}

static void write_record(struct iolog_writer *w, const struct trace_record *r)
{
	assert(w->left);
	uint64_t *left = omission_of(w, r);
	if (!left) {
		add_file(w, r);
		if (*state_of(w, r->file) == FILE_LEFT_OUT)
			left = &w->left->of_files;
	}
	if (left) {
		++*left;
	} else if (is_transfer(r)) {
		const char *action = r->op == TRACE_READ ? "read" : "write";
		uint64_t rest = (uint64_t)r->result, off = r->off;

		ensure_open(w, r);
		while (r->result > UINT32_MAX && rest > PIECE_BYTES) {
			write_extent(w, r, action, off, PIECE_BYTES);
			off += PIECE_BYTES;
			rest -= PIECE_BYTES;
		}
		write_extent(w, r, action, off, rest);
	} else if (r->op == TRACE_OPEN || r->op == TRACE_CLOSE) {
		uint32_t *state = state_of(w, r->file);
		bool opens = r->op == TRACE_OPEN;

		/* fio fails if an open file is opened again: only the first open and the last close
		 * are written. */
		if (opens && *state < FILE_LEFT_OUT - 1)
			++*state;
		else if (!opens)
			--*state;
		if (*state == (opens ? FILE_CLOSED + 1 : FILE_CLOSED))
			write_action(w, r, opens ? "open" : "close");
		else
			w->left->nested++;
	} else {
		ensure_open(w, r);
		write_extent(w, r, r->op == TRACE_FSYNC ? "sync" : "datasync", 0, 0);
	}
}

int trace_iolog_write(struct trace_ordered *o, FILE *to, struct trace_iolog_omitted *left,
		      struct mlgen_err *err)
{
	struct iolog_writer w = { .o = o, .to = to, .left = left };
	const struct trace_record *r;
	int rc = 0;

	spill_reserve(&w.files, ((size_t)trace_ordered_names(o) + 1) * sizeof(uint32_t));
	w.has_failed = fputs("fio version 3 iolog\n", to) < 0;
	while (!w.has_failed && (rc = trace_ordered_next(o, &r, err)) > 0)
		write_record(&w, r);
	spill_free(&w.files);
	buf_fini(&w.line);
	return rc < 0 ? rc : 0;
}

static void note_omitted(uint64_t count, const char *before, const char *what)
{
	if (count)
		log_note("%sleft out because an iolog cannot express them: %" PRIu64 " %s", before,
			 count, what);
}

void trace_iolog_omitted_log(const struct trace_iolog_omitted *left, const char *before)
{
	if (left->files)
		log_warn("%s%" PRIu64 " file%s cannot be named in an iolog, with %" PRIu64
			 " operation%s; a name may not contain spaces and has up to %d bytes. The "
			 "first: '%s'",
			 before, left->files, plural(left->files), left->of_files,
			 plural(left->of_files), TRACE_IOLOG_NAME_MAX, buf_str(&left->first));
	note_omitted(left->unplaced, before, "operations with an unknown file or offset");
	note_omitted(left->too_long, before, "operations of more than 1 TiB");
	note_omitted(left->failed, before, "operations that failed or moved no byte");
	note_omitted(left->nested, before,
		     "opens of files that are already open, and closes of files that stay open or "
		     "are not open");
	note_omitted(left->others, before,
		     "operations other than open, close, read, write and sync");
	note_omitted(left->markers, before, "markers");
}

void trace_iolog_omitted_fini(struct trace_iolog_omitted *left)
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

/* The current line, split into words. */
struct iolog_parser {
	struct trace_input *in;
	struct trace_fill *to;
	struct trace_iolog_read *what;
	struct mlgen_err *err;
	uint64_t line; /* line number */
	char *word[WORDS];
	size_t bytes[WORDS];
	size_t count;
	uint64_t now_ns;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Split a line into at most WORDS words; the rest is ignored. */
static void split_line(struct iolog_parser *r, struct buf *line)
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
		/* After the last word of the line, `at` is at the NUL already. */
		*at++ = '\0';
	}
}

static int parse_number_word(struct iolog_parser *r, const char *what, size_t word, uint64_t most,
			     uint64_t *out)
{
	const char *wrong = trace_number_parse(r->word[word], r->bytes[word], most, out);

	if (!wrong)
		return 0;
	return trace_input_fail(r->in, r->line, r->err,
				"the %s '%.40s' %s; it must be a number from 0", what,
				r->word[word], wrong);
}

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

/* fio waits until a number of milliseconds from its start, although its manual says microseconds
 * from the previous wait. */
static int parse_wait(struct iolog_parser *r)
{
	uint64_t until_ms = 0;

	if (r->what->version == 3)
		return trace_input_fail(r->in, r->line, r->err,
					"version 3 has a time in each line, and no wait action");
	int rc = parse_number_word(r, "time", 2, TRACE_UNKNOWN / NS_PER_MS - 1, &until_ms);
	r->now_ns = u64_max(r->now_ns, until_ms * NS_PER_MS);
	r->what->waits++;
	return rc;
}

static int parse_action(struct iolog_parser *r, const struct action *a, size_t file)
{
	bool is_file = a->kind == ACTION_ADD || a->kind == ACTION_FILE;

	if (a->kind == ACTION_WAIT && r->what->version == 3)
		return parse_wait(r);
	if (r->count != file + (is_file ? 2 : 4))
		return trace_input_fail(r->in, r->line, r->err,
					"%zu words; a '%s' line of version %u is %sFILE %s%s",
					r->count, a->name, r->what->version,
					r->what->version == 3 ? "MICROSECONDS " : "", a->name,
					is_file ? "" : " OFFSET LENGTH");
	if (a->kind == ACTION_WAIT)
		return parse_wait(r);
	if (a->kind == ACTION_ADD || a->kind == ACTION_TRIM) {
		r->what->trims += a->kind == ACTION_TRIM;
		return 0;
	}

	struct trace_record to = { .start_ns = r->now_ns,
				   .duration_ns = TRACE_UNKNOWN,
				   .off = TRACE_UNKNOWN,
				   .cpu_ns = TRACE_UNKNOWN,
				   .op = a->op };
	int rc = 0;
	if (a->op == TRACE_OPEN)
		to.len_bytes = TRACE_UNKNOWN;
	if (a->kind == ACTION_EXTENT) {
		rc = parse_number_word(r, "offset", file + 2, INT64_MAX, &to.off);
		if (rc == 0)
			rc = parse_number_word(r, "length", file + 3, TRACE_IOLOG_BYTES_MAX,
					       &to.len_bytes);
		to.result = (int64_t)to.len_bytes;
	}
	if (rc < 0)
		return rc;
	to.file = trace_fill_name(r->to, r->word[file], r->bytes[file]);
	return trace_fill_add(r->to, &to, r->err);
}

static int parse_line(struct iolog_parser *r)
{
	size_t file = r->what->version == 3;
	int rc = 0;

	if (!r->count)
		return 0;
	if (r->count < file + 2)
		return trace_input_fail(r->in, r->line, r->err,
					"half a line; a line of version %u is %sFILE ACTION, "
					"followed by OFFSET LENGTH for a read or write",
					r->what->version, file ? "MICROSECONDS " : "");
	if (file)
		rc = parse_number_word(r, "time", 0, TRACE_UNKNOWN / NS_PER_US - 1, &r->now_ns);
	if (rc < 0)
		return rc;
	if (file)
		r->now_ns *= NS_PER_US;
	const struct action *a = find_action(r->word[file + 1]);
	return a ? parse_action(r, a, file)
		 : trace_input_fail(
			   r->in, r->line, r->err,
			   "'%.40s' is not an action of an iolog; actions are " ACTION_NAMES,
			   r->word[file + 1]);
}

/* Read the first line. 1, or -errno with err. */
static int read_version(struct iolog_parser *r, struct buf *line)
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
	return trace_input_fail(r->in, 1, r->err,
				"is not a known fio iolog; the first line must be 'fio version 3 "
				"iolog' or 'fio version 2 iolog'");
}

int trace_iolog_read(struct trace_input *in, struct trace_fill *to, struct trace_iolog_read *what,
		     struct mlgen_err *err)
{
	struct iolog_parser r = { .in = in, .to = to, .what = what, .err = err };
	struct buf line = { 0 };
	int rc = read_version(&r, &line);

	while (rc > 0) {
		r.line = in->line;
		rc = trace_input_line(in, &line, &what->is_cut, err);
		if (rc <= 0)
			break;
		split_line(&r, &line);
		rc = parse_line(&r);
		/* A stopped program may leave a part of the last line. */
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

void trace_iolog_log_notes(const char *name, const struct trace_iolog_read *what)
{
	if (what->waits)
		log_note("%s: waits are read as fio replays them, as milliseconds since the "
			 "beginning, although fio's manual says microseconds since the previous "
			 "wait. Version 3 has times",
			 name);
	if (what->trims)
		log_note("%s: %" PRIu64 " trim%s left out; a trace cannot contain trims", name,
			 what->trims, plural(what->trims));
}
