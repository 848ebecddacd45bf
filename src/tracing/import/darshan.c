/* SPDX-License-Identifier: Apache-2.0 */
/* darshan.c - --format=darshan: reads and writes of Darshan DXT, from darshan-dxt-parser. */
#include "tracing/import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/trace.h"

/* ---- a row of darshan-dxt-parser ---- */

/*
 * A row is MODULE RANK read|write SEGMENT OFFSET LENGTH START END, with times in seconds since the
 * start of the job. Some versions append any number of Lustre [OST] and the thread's
 * pthread_self().
 */
struct darshan_row {
	const char *module; /* not NUL-terminated */
	size_t module_bytes;
	uint64_t rank;
	bool is_write;
	uint64_t off, bytes;
	uint64_t start_ns, end_ns; /* since the start of the job */
	unsigned decimals;         /* digits after the point of the times */
	bool has_thread;
	uint64_t thread;
	char why[200]; /* a fault of the row with the word, if need be */
};

#define COLUMNS "MODULE RANK read|write SEGMENT OFFSET LENGTH START END"

enum darshan_column {
	COLUMN_MODULE,
	COLUMN_RANK,
	COLUMN_DIRECTION,
	COLUMN_SEGMENT,
	COLUMN_OFFSET,
	COLUMN_LENGTH,
	COLUMN_START,
	COLUMN_END,
	COLUMNS_ALWAYS
};

/* A rank plus one becomes a pid of 32 bits. */
#define RANK_MAX (UINT32_MAX - 1u)
/* A century; covers start times since 1970. */
#define SECONDS_MAX UINT64_C(3200000000)

struct darshan_word {
	const char *s;
	size_t bytes;
};

/* The unread part of a line. */
struct darshan_line {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Remove the next word. Spaces separate words, but not within "[ 3]". False: no more words. */
static bool next_word(struct darshan_line *l, struct darshan_word *w)
{
	bool is_bracket;

	while (l->at < l->end && is_blank(*l->at))
		l->at++;
	w->s = l->at;
	is_bracket = l->at < l->end && *l->at == '[';
	while (l->at < l->end && (is_bracket || !is_blank(*l->at))) {
		bool is_last = is_bracket && *l->at == ']';

		l->at++;
		if (is_last)
			break;
	}
	w->bytes = (size_t)(l->at - w->s);
	return w->bytes > 0;
}

/* Parse decimal seconds. NULL, or the fault as a predicate: "is negative". */
static const char *darshan_seconds(const char *s, size_t bytes, uint64_t *ns, unsigned *decimals)
{
	const char *point = memchr(s, '.', bytes);
	size_t whole = point ? (size_t)(point - s) : bytes;
	uint64_t seconds = 0, fraction = 0, unit = NS_PER_S;
	const char *wrong = trace_number_parse(s, whole, SECONDS_MAX, &seconds);

	*decimals = 0;
	for (size_t i = whole + 1; !wrong && i < bytes; i++) {
		if (s[i] < '0' || s[i] > '9')
			return "is not a number of seconds";
		unit /= 10;
		fraction += unit * (uint64_t)(s[i] - '0');
		++*decimals;
	}
	*ns = seconds * NS_PER_S + fraction;
	return wrong;
}

/* Format the fault of a word into r->why. */
static const char *fail_word(struct darshan_row *r, const char *column, struct darshan_word w,
			     const char *wrong)
{
	snprintf(r->why, sizeof(r->why), "the %s '%.*s' %s", column, (int)u64_min(w.bytes, 40), w.s,
		 wrong);
	return r->why;
}

static const char *parse_number(struct darshan_row *r, const char *column, struct darshan_word w,
				uint64_t most, uint64_t *out)
{
	const char *wrong = trace_number_parse(w.s, w.bytes, most, out);

	return wrong ? fail_word(r, column, w, wrong) : NULL;
}

static const char *parse_time(struct darshan_row *r, const char *column, struct darshan_word w,
			      uint64_t *ns)
{
	const char *wrong = darshan_seconds(w.s, w.bytes, ns, &r->decimals);

	return wrong ? fail_word(r, column, w, wrong) : NULL;
}

static bool word_is(struct darshan_word w, const char *text)
{
	return w.bytes == strlen(text) && memcmp(w.s, text, w.bytes) == 0;
}

static const char *parse_cell(struct darshan_row *r, enum darshan_column c, struct darshan_word w)
{
	uint64_t segment;

	switch (c) {
	case COLUMN_MODULE:
		r->module = w.s;
		r->module_bytes = w.bytes;
		return NULL;
	case COLUMN_RANK:
		return parse_number(r, "rank", w, RANK_MAX, &r->rank);
	case COLUMN_DIRECTION:
		r->is_write = word_is(w, "write");
		return r->is_write || word_is(w, "read")
			       ? NULL
			       : fail_word(r, "word", w, "is neither read nor write");
	case COLUMN_SEGMENT:
		return parse_number(r, "segment", w, UINT64_MAX, &segment);
	case COLUMN_OFFSET:
		return parse_number(r, "offset", w, INT64_MAX, &r->off);
	case COLUMN_LENGTH:
		return parse_number(r, "length", w, INT64_MAX, &r->bytes);
	case COLUMN_START:
		return parse_time(r, "start", w, &r->start_ns);
	default:
		return parse_time(r, "end", w, &r->end_ns);
	}
}

/* Parse a row into a zeroed struct. NULL, or the fault. The module points into the line. */
static const char *darshan_row_parse(struct darshan_row *r, const char *line, size_t bytes)
{
	struct darshan_line l = { line, line + bytes };
	const char *wrong = NULL;
	struct darshan_word w;

	for (unsigned c = 0; !wrong && c < COLUMNS_ALWAYS; c++) {
		if (!next_word(&l, &w)) {
			snprintf(r->why, sizeof(r->why), "%u words, but a line needs %d: " COLUMNS,
				 c, COLUMNS_ALWAYS);
			return r->why;
		}
		wrong = parse_cell(r, c, w);
	}
	/* The object storage targets, which a trace does not have, and the thread. */
	while (!wrong && next_word(&l, &w)) {
		if (*w.s == '[') {
			if (w.s[w.bytes - 1] != ']')
				wrong = fail_word(r, "list", w, "has no closing bracket");
			continue;
		}
		if (r->has_thread)
			return fail_word(r, "word", w, "is superfluous");
		wrong = parse_number(r, "thread", w, UINT64_MAX - 1, &r->thread);
		r->has_thread = true;
	}
	if (wrong || r->end_ns >= r->start_ns)
		return wrong;
	return "ends before it begins";
}

/* ---- the reader ---- */

/*
 * The log has ranks instead of pids. The pid is the rank plus one; in further files, numbering
 * continues after the pids of the previous files. The first thread of a process has its pid as tid;
 * the tids of further threads start at OTHER_THREADS.
 */
enum { OTHER_THREADS = 100000000 };
#define NO_THREAD UINT64_MAX

enum darshan_module { MODULE_POSIX, MODULE_MPIIO, MODULES };

static const char *const modules[MODULES] = {
	[MODULE_POSIX] = "X_POSIX",
	[MODULE_MPIIO] = "X_MPIIO",
};

struct darshan {
	struct importing *m;
	struct mlgen_err *err;
	struct trace_input in;
	struct buf line;
	uint64_t number; /* line number */
	/* State of the current file. */
	uint64_t start_ns; /* the job's start as a time of day */
	bool has_start;
	uint32_t pid_base;  /* pids of previous files */
	uint32_t pid_count; /* pids of this file */
	struct buf command; /* command line of the job */
	uint32_t file;      /* current block's file; 0 = unnamed */
	uint64_t expected;  /* rows, according to the heads of blocks */
	uint64_t row_count; /* rows read */
	/* State of all files. */
	struct map posix;           /* files with rows of X_POSIX */
	struct map processes;       /* all pids */
	VEC(uint64_t) first_thread; /* index: number in `processes` */
	struct map threads;         /* threads other than the first ones */
	struct buf host;
	bool has_hosts;                /* more than one */
	uint64_t repeated, mpiio_only; /* rows of MPI-IO, left out and added */
	uint64_t incomplete;           /* lines that report incomplete data */
	uint64_t missing;              /* rows expected but absent */
	unsigned decimals;
};

/* ---- lines that begin with # ---- */

/* The value after `key`, up to the next `until` or the line's end; NULL = no such key. */
static const char *value_of(const struct darshan *d, const char *key, const char *until,
			    size_t *bytes)
{
	const char *s = strstr(buf_str(&d->line), key), *end;

	if (!s)
		return NULL;
	s += strlen(key);
	s += strspn(s, " ");
	end = until ? strstr(s, until) : NULL;
	*bytes = end ? (size_t)(end - s) : strlen(s);
	return s;
}

/* Read "# DXT, ..." with the host and the number of rows of a block. */
static void read_block_facts(struct darshan *d)
{
	static const char *const keys[] = { "write_count:", "read_count:" };
	size_t name_bytes;
	const char *name = value_of(d, "hostname:", NULL, &name_bytes);

	if (name && name_bytes) {
		if (!d->host.len)
			buf_addn(&d->host, name, name_bytes);
		d->has_hosts |= strcmp(buf_str(&d->host), name) != 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t bytes;
		uint64_t count;
		const char *s = value_of(d, keys[i], ",", &bytes);

		if (s && !trace_number_parse(s, bytes, UINT32_MAX, &count))
			d->expected += count;
	}
}

/* Read the head of a block, "# DXT, ..." with facts of a block, or "# KEY: value" of the preamble.
 */
static void read_comment(struct darshan *d)
{
	const char *text = buf_str(&d->line), *s;
	size_t bytes;
	unsigned unused;

	/* The head of a block ends with the name of its file. */
	s = value_of(d, "file_name:", NULL, &bytes);
	if (s && strncmp(text, "# DXT, file_id:", 15) == 0) {
		d->file = bytes ? trace_fill_name(d->m->fill, s, bytes) : 0;
		return;
	}
	if (strncmp(text, "# DXT,", 6) == 0) {
		read_block_facts(d);
		return;
	}
	if (strstr(text, "incomplete data") || strstr(text, "*ERROR*")) {
		d->incomplete++;
		return;
	}
	s = value_of(d, ":", NULL, &bytes);
	if (!s)
		return;
	if (strncmp(text, "# start_time:", 13) == 0) {
		d->has_start = !darshan_seconds(s, bytes, &d->start_ns, &unused);
		if (!d->has_start)
			d->start_ns = 0;
	} else if (strncmp(text, "# jobid:", 8) == 0) {
		trace_fill_fact(d->m->fill, "job", s);
	} else if (strncmp(text, "# nprocs:", 9) == 0) {
		trace_fill_fact(d->m->fill, "ranks", s);
	} else if (strncmp(text, "# exe:", 6) == 0) {
		buf_reset(&d->command);
		buf_addn(&d->command, s, bytes);
		trace_fill_fact(d->m->fill, "command", s);
	}
}

/* ---- rows ---- */

/* The tid of a row; a new process is added to the trace. */
static uint32_t thread_of(struct darshan *d, uint32_t pid, const struct darshan_row *r)
{
	uint64_t thread = r->has_thread ? r->thread : NO_THREAD;
	uint64_t value = pid;
	bool is_new;
	uint32_t number = map_number(&d->processes, pid, &is_new);

	if (is_new) {
		vec_push(&d->first_thread, thread);
		trace_fill_entry(d->m->fill, TRACE_PROCESS, &value, 1, buf_str(&d->command));
		return pid;
	}
	if (d->first_thread.at[number] == NO_THREAD)
		d->first_thread.at[number] = thread;
	if (d->first_thread.at[number] == thread || !r->has_thread)
		return pid;
	/* pthread_self() is an address of 47 bits, or a number of 32 bits. */
	return OTHER_THREADS + map_number(&d->threads, (uint64_t)pid << 47 ^ thread, &is_new);
}

static int darshan_unread(struct darshan *d, const char *why)
{
	return import_count_unread(d->m, d->in.name, d->number, d->err, "%s", why);
}

static int read_row(struct darshan *d, const char *line, size_t bytes)
{
	char name[32];
	struct darshan_row r = { 0 };
	const char *wrong = darshan_row_parse(&r, line, bytes);
	enum darshan_module module = MODULE_POSIX;
	struct trace_record to = { 0 };
	uint32_t number;
	bool is_new;

	d->m->tally.lines++;
	d->row_count++;
	if (wrong)
		return darshan_unread(d, wrong);
	while (module < MODULES && (strlen(modules[module]) != r.module_bytes ||
				    memcmp(modules[module], r.module, r.module_bytes) != 0))
		module++;
	if (module == MODULES && strncmp(r.module, "X_", 2) != 0)
		return darshan_unread(d,
				      "is not a row of DXT, which begins with X_POSIX or X_MPIIO");
	if (module == MODULES) {
		snprintf(name, sizeof(name), "%.*s", (int)u64_min(r.module_bytes, sizeof(name)),
			 r.module);
		import_count_unknown(d->m, name);
		return 0;
	}
	if (!d->file)
		return darshan_unread(d, "the file is unknown: there is no line '# DXT, file_id: "
					 "ID, file_name: NAME' above");
	if (d->pid_base + r.rank >= OTHER_THREADS)
		return darshan_unread(d, "a rank above 100 million");

	/* MPI-IO calls read(2) and write(2): its rows about a file repeat the POSIX rows, if the
	 * file has any. */
	if (module == MODULE_POSIX) {
		map_number(&d->posix, d->file, &is_new);
	} else if (map_find(&d->posix, d->file, &number)) {
		d->repeated++;
		return 0;
	} else {
		d->mpiio_only++;
	}

	to.start_ns = d->start_ns + r.start_ns - d->m->clock_offset_ns;
	to.duration_ns = r.end_ns - r.start_ns;
	to.off = r.off;
	to.len_bytes = r.bytes;
	to.result = (int64_t)r.bytes;
	to.cpu_ns = TRACE_UNKNOWN;
	to.file = d->file;
	to.op = r.is_write ? TRACE_WRITE : TRACE_READ;
	to.pid = d->pid_base + (uint32_t)r.rank + 1;
	to.tid = thread_of(d, to.pid, &r);
	d->pid_count = (uint32_t)u64_max(d->pid_count, r.rank + 1);
	d->decimals = (unsigned)u64_max(d->decimals, r.decimals);
	return trace_fill_add(d->m->fill, &to, d->err);
}

/* ---- files ---- */

static int read_file(struct darshan *d, const char *path)
{
	int rc = trace_input_open(&d->in, path, d->err);
	const char *at;

	d->pid_base += d->pid_count;
	d->pid_count = 0;
	d->start_ns = d->expected = d->row_count = 0;
	d->has_start = false;
	d->file = 0;
	buf_reset(&d->command);
	while (rc >= 0) {
		d->number = d->in.line;
		rc = trace_input_line(&d->in, &d->line, &d->m->tally.is_cut, d->err);
		if (rc <= 0)
			break;
		d->m->is_torn = d->m->tally.is_cut;
		at = buf_str(&d->line);
		at += strspn(at, " \t");
		if (*at == '#')
			read_comment(d);
		else if (*at)
			rc = read_row(d, at, d->line.len - (size_t)(at - d->line.s));
	}
	d->m->is_torn = false;
	if (rc == 0 && !d->has_start) {
		import_note(d->m,
			    "%s: no line '# start_time:' gives the start of the job; times count "
			    "from the start",
			    d->in.name);
		d->m->no_clock = "the log does not contain the start time of the job";
	}
	if (rc == 0 && d->row_count < d->expected)
		d->missing += d->expected - d->row_count;
	trace_input_close(&d->in);
	return rc;
}

static void add_notes(struct darshan *d)
{
	if (d->host.len && !d->has_hosts)
		trace_fill_fact(d->m->fill, "host", buf_str(&d->host));
	import_note(d->m,
		    "Darshan's DXT contains only reads and writes: no open, close, stat or sync, "
		    "and no failed call. Its times have %u decimals of a second",
		    d->decimals);
	import_note(d->m, "the pid of a process is its rank plus one, because the log has no pids");
	if (d->repeated)
		import_note(d->m,
			    "%" PRIu64 " row%s of X_MPIIO repeat%s rows of X_POSIX for the same "
			    "files, and %s left out",
			    d->repeated, plural(d->repeated), d->repeated == 1 ? "s" : "",
			    d->repeated == 1 ? "is" : "are");
	if (d->mpiio_only)
		import_note(d->m,
			    "%" PRIu64 " row%s of X_MPIIO %s of files without rows of X_POSIX "
			    "above them: calls of MPI-IO, not the requests to storage",
			    d->mpiio_only, plural(d->mpiio_only),
			    d->mpiio_only == 1 ? "is" : "are");
	if (d->incomplete)
		import_note(d->m, "Darshan reports that its data are incomplete because it ran out "
				  "of memory");
	if (d->missing)
		import_note(d->m, "%" PRIu64 " row%s counted in the heads of the files %s missing",
			    d->missing, plural(d->missing), d->missing == 1 ? "is" : "are");
}

int import_darshan(struct importing *m, struct mlgen_err *err)
{
	struct darshan d = { .m = m, .err = err, .in.fd = -1 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < m->file_count; i++)
		rc = read_file(&d, m->files[i]);
	if (rc == 0)
		rc = import_check_unread(m, "darshan", err);
	if (rc == 0)
		add_notes(&d);
	map_fini(&d.posix);
	map_fini(&d.processes);
	map_fini(&d.threads);
	vec_fini(&d.first_thread);
	buf_fini(&d.line);
	buf_fini(&d.command);
	buf_fini(&d.host);
	return rc;
}
