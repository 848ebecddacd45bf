/* SPDX-License-Identifier: Apache-2.0 */
/* darshan.c - --format=darshan: what DXT of Darshan has of a job's reads and writes, from the text
 * of darshan-dxt-parser. */
#include "tracing/import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/trace.h"

/* ---- a line of darshan-dxt-parser's text that says what was read or written ---- */

/*
 * MODULE RANK read|write SEGMENT OFFSET LENGTH START END, seconds from the job's begin, and behind
 * them [OST] of Lustre as often as there are some, and the thread that pthread_self() named, both
 * where the version has them.
 */
struct darshan_row {
	const char *module; /* not terminated */
	size_t module_bytes;
	uint64_t rank;
	bool is_write;
	uint64_t off, bytes;
	uint64_t start_ns, end_ns; /* from the job's begin */
	unsigned decimals;         /* that the times have */
	bool has_thread;
	uint64_t thread;
};

#define COLUMNS "MODULE RANK read|write SEGMENT OFFSET LENGTH START END"

enum column {
	COLUMN_MODULE,
	COLUMN_RANK,
	COLUMN_WAY,
	COLUMN_SEGMENT,
	COLUMN_OFFSET,
	COLUMN_LENGTH,
	COLUMN_START,
	COLUMN_END,
	COLUMNS_ALWAYS
};

/* Ranks are pids, and their numbers plus one. */
#define RANK_MOST (UINT32_MAX - 1u)
/* A century; a job's begin is of this one. */
#define SECONDS_MOST UINT64_C(3200000000)

struct word {
	const char *s;
	size_t bytes;
};

/* A line, on its way. */
struct words {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Blanks part words, but not within [  3]. False: there is none. */
static bool next_word(struct words *l, struct word *w)
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

/* Seconds, as a decimal fraction. NULL, or what is wrong: "is negative". */
static const char *darshan_seconds(const char *s, size_t bytes, uint64_t *ns, unsigned *decimals)
{
	const char *point = memchr(s, '.', bytes);
	size_t whole = point ? (size_t)(point - s) : bytes;
	uint64_t seconds = 0, fraction = 0, unit = NS_PER_S;
	const char *wrong = trace_number_take(s, whole, SECONDS_MOST, &seconds);

	*decimals = 0;
	for (size_t i = whole + 1; !wrong && i < bytes; i++) {
		if (s[i] < '0' || s[i] > '9')
			return "is no number of seconds";
		unit /= 10;
		fraction += unit * (uint64_t)(s[i] - '0');
		++*decimals;
	}
	*ns = seconds * NS_PER_S + fraction;
	return wrong;
}

/* ---- cell by cell ---- */

struct taking {
	struct darshan_row *row;
	char *why;
	size_t why_bytes;
};

static const char *darshan_row_say(struct taking *t, const char *what, struct word w,
				   const char *wrong)
{
	snprintf(t->why, t->why_bytes, "the %s '%.*s' %s", what, (int)u64_min(w.bytes, 40), w.s,
		 wrong);
	return t->why;
}

static const char *take_number(struct taking *t, const char *what, struct word w, uint64_t most,
			       uint64_t *out)
{
	const char *wrong = trace_number_take(w.s, w.bytes, most, out);

	return wrong ? darshan_row_say(t, what, w, wrong) : NULL;
}

static const char *take_time(struct taking *t, const char *what, struct word w, uint64_t *ns)
{
	const char *wrong = darshan_seconds(w.s, w.bytes, ns, &t->row->decimals);

	return wrong ? darshan_row_say(t, what, w, wrong) : NULL;
}

static bool word_is(struct word w, const char *text)
{
	return w.bytes == strlen(text) && memcmp(w.s, text, w.bytes) == 0;
}

static const char *take_cell(struct taking *t, enum column c, struct word w)
{
	struct darshan_row *r = t->row;
	uint64_t segment;

	switch (c) {
	case COLUMN_MODULE:
		r->module = w.s;
		r->module_bytes = w.bytes;
		return NULL;
	case COLUMN_RANK:
		return take_number(t, "rank", w, RANK_MOST, &r->rank);
	case COLUMN_WAY:
		r->is_write = word_is(w, "write");
		return r->is_write || word_is(w, "read")
			       ? NULL
			       : darshan_row_say(t, "word", w, "is neither read nor write");
	case COLUMN_SEGMENT:
		return take_number(t, "segment", w, UINT64_MAX, &segment);
	case COLUMN_OFFSET:
		return take_number(t, "offset", w, INT64_MAX, &r->off);
	case COLUMN_LENGTH:
		return take_number(t, "length", w, INT64_MAX, &r->bytes);
	case COLUMN_START:
		return take_time(t, "start", w, &r->start_ns);
	default:
		return take_time(t, "end", w, &r->end_ns);
	}
}

/* The object storage targets, which a trace does not have, and the thread. */
static const char *take_rest(struct taking *t, struct words *l)
{
	struct darshan_row *r = t->row;
	struct word w;

	while (next_word(l, &w)) {
		if (*w.s == '[') {
			if (w.s[w.bytes - 1] != ']')
				return darshan_row_say(t, "list", w, "has no end");
			continue;
		}
		if (r->has_thread)
			return darshan_row_say(t, "word", w, "is one too many");
		const char *wrong = take_number(t, "thread", w, UINT64_MAX - 1, &r->thread);

		if (wrong)
			return wrong;
		r->has_thread = true;
	}
	return NULL;
}

/* NULL, or what is wrong with it, to stand behind the line's place. Only as long as the line is.
 * `why` is where the words go if need be. */
static const char *darshan_row_take(struct darshan_row *r, const char *line, size_t bytes,
				    char *why, size_t why_bytes)
{
	struct words l = { line, line + bytes };
	struct taking t = { r, why, why_bytes };
	const char *wrong = NULL;
	struct word w;

	*r = (struct darshan_row){ 0 };
	for (unsigned c = 0; !wrong && c < COLUMNS_ALWAYS; c++) {
		if (!next_word(&l, &w)) {
			snprintf(why, why_bytes, "%u words, and a line has %d: " COLUMNS, c,
				 COLUMNS_ALWAYS);
			return why;
		}
		wrong = take_cell(&t, c, w);
	}
	if (!wrong)
		wrong = take_rest(&t, &l);
	if (wrong || r->end_ns >= r->start_ns)
		return wrong;
	return "ends before it begins";
}

/* ---- the log ---- */

/*
 * The log has no pids, but ranks: a process is its rank plus one, and behind the last of the file
 * before where there are several. A thread's number is that of its process where it is the first of
 * it; others are numbered from here.
 */
enum { OTHER_THREADS = 100000000 };
#define NO_THREAD UINT64_MAX

enum module { MODULE_POSIX, MODULE_MPIIO, MODULES };

static const char *const modules[MODULES] = {
	[MODULE_POSIX] = "X_POSIX",
	[MODULE_MPIIO] = "X_MPIIO",
};

struct darshan {
	struct importing *m;
	struct mlgen_err *err;
	struct trace_input in;
	struct buf line;
	uint64_t number; /* of the line */
	/* Of this file. */
	uint64_t start_ns; /* time of day at which the job began */
	bool has_start;
	uint32_t before;     /* pids that the files before it have */
	uint32_t most;       /* of its own */
	struct buf command;  /* that the job ran */
	uint32_t file;       /* of the block; 0 = none was named */
	uint64_t due, there; /* rows, by the heads of blocks; and found */
	/* Of all. */
	struct map posix;           /* files that have rows of this module */
	struct map processes;       /* pids, and ... */
	VEC(uint64_t) first_thread; /* of each, by its number there */
	struct map threads;         /* that are not the first */
	struct buf host;
	bool has_hosts;           /* several */
	uint64_t repeated, alone; /* rows of MPI-IO, left out and taken */
	uint64_t partial;         /* lines that say that data are missing */
	uint64_t missing;         /* rows */
	unsigned decimals;
};

/* ---- lines that begin with # ---- */

/* What stands behind `key`, up to the next `until` or the line's end; NULL = it is not there. */
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

/* The block's file. Its name is all that stands behind. */
static bool take_block(struct darshan *d)
{
	size_t bytes;
	const char *name = value_of(d, "file_name:", NULL, &bytes);

	if (!name || strncmp(buf_str(&d->line), "# DXT, file_id:", 15) != 0)
		return false;
	d->file = bytes ? trace_fill_name(d->m->fill, name, bytes) : 0;
	return true;
}

static void take_host(struct darshan *d)
{
	size_t bytes;
	const char *name = value_of(d, "hostname:", NULL, &bytes);

	if (!name || !bytes)
		return;
	if (!d->host.len)
		buf_addn(&d->host, name, bytes);
	d->has_hosts |= strcmp(buf_str(&d->host), name) != 0;
}

static void take_due(struct darshan *d)
{
	static const char *const keys[] = { "write_count:", "read_count:" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t bytes;
		uint64_t count;
		const char *s = value_of(d, keys[i], ",", &bytes);

		if (s && !trace_number_take(s, bytes, UINT32_MAX, &count))
			d->due += count;
	}
}

/* `# KEY: value` of the preamble. */
static void take_head(struct darshan *d)
{
	const char *text = buf_str(&d->line);
	size_t bytes;
	unsigned unused;
	const char *s = value_of(d, ":", NULL, &bytes);

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

static void take_comment(struct darshan *d)
{
	const char *text = buf_str(&d->line);

	if (take_block(d))
		return;
	if (strncmp(text, "# DXT,", 6) == 0) {
		take_host(d);
		take_due(d);
	} else if (strstr(text, "incomplete data") || strstr(text, "*ERROR*")) {
		d->partial++;
	} else {
		take_head(d);
	}
}

/* ---- rows ---- */

static uint32_t new_process(struct darshan *d, uint32_t pid, uint64_t thread)
{
	uint64_t said = pid;

	vec_push(&d->first_thread, thread);
	trace_fill_entry(d->m->fill, TRACE_PROCESS, &said, 1, buf_str(&d->command));
	return pid;
}

static uint32_t thread_of(struct darshan *d, uint32_t pid, const struct darshan_row *r)
{
	uint64_t thread = r->has_thread ? r->thread : NO_THREAD;
	bool is_new;
	uint32_t number = map_number(&d->processes, pid, &is_new);

	if (is_new)
		return new_process(d, pid, thread);
	if (d->first_thread.at[number] == NO_THREAD)
		d->first_thread.at[number] = thread;
	if (d->first_thread.at[number] == thread || !r->has_thread)
		return pid;
	/* Addresses, of 47 bits, or numbers of 32. */
	return OTHER_THREADS + map_number(&d->threads, (uint64_t)pid << 47 ^ thread, &is_new);
}

/* MPI-IO calls read and write: what it did is there again. False: left out. */
static bool is_wanted(struct darshan *d, enum module module)
{
	uint32_t number;
	bool is_new;

	if (module == MODULE_POSIX) {
		map_number(&d->posix, d->file, &is_new);
		return true;
	}
	if (map_find(&d->posix, d->file, &number)) {
		d->repeated++;
		return false;
	}
	d->alone++;
	return true;
}

static int add_row(struct darshan *d, const struct darshan_row *r)
{
	struct trace_record to = {
		.start_ns = d->start_ns + r->start_ns - d->m->clock_offset_ns,
		.duration_ns = r->end_ns - r->start_ns,
		.off = r->off,
		.len_bytes = r->bytes,
		.result = (int64_t)r->bytes,
		.cpu_ns = TRACE_UNKNOWN,
		.file = d->file,
		.op = r->is_write ? TRACE_WRITE : TRACE_READ,
	};

	to.pid = d->before + (uint32_t)r->rank + 1;
	to.tid = thread_of(d, to.pid, r);
	d->most = (uint32_t)u64_max(d->most, r->rank + 1);
	d->decimals = (unsigned)u64_max(d->decimals, r->decimals);
	return trace_fill_add(d->m->fill, &to, d->err);
}

static int darshan_unread(struct darshan *d, const char *why)
{
	return import_unread(d->m, d->in.name, d->number, d->err, "%s", why);
}

/* The module, or MODULES: it is another one, or none at all. */
static enum module module_of(const char *name, size_t bytes)
{
	enum module m = MODULE_POSIX;

	while (m < MODULES && (strlen(modules[m]) != bytes || memcmp(modules[m], name, bytes) != 0))
		m++;
	return m;
}

static int take_row(struct darshan *d, const char *line, size_t bytes)
{
	char why[200], name[32];
	struct darshan_row r = { 0 };
	const char *wrong = darshan_row_take(&r, line, bytes, why, sizeof(why));
	enum module module;

	if (wrong)
		return darshan_unread(d, wrong);
	module = module_of(r.module, r.module_bytes);
	if (module == MODULES && strncmp(r.module, "X_", 2) != 0)
		return darshan_unread(d, "is no row of DXT, which begins with X_POSIX or X_MPIIO");
	if (module == MODULES) {
		snprintf(name, sizeof(name), "%.*s", (int)u64_min(r.module_bytes, sizeof(name)),
			 r.module);
		import_unknown(d->m, name);
		return 0;
	}
	if (!d->file)
		return darshan_unread(d, "no line '# DXT, file_id: ID, file_name: NAME' above says "
					 "which file this is");
	if (d->before + r.rank >= OTHER_THREADS)
		return darshan_unread(d, "a rank of more than 100 million");
	return is_wanted(d, module) ? add_row(d, &r) : 0;
}

static int take_line(struct darshan *d)
{
	const char *at = buf_str(&d->line);

	at += strspn(at, " \t");
	if (!*at)
		return 0;
	if (*at == '#') {
		take_comment(d);
		return 0;
	}
	d->m->tally.lines++;
	d->there++;
	return take_row(d, at, d->line.len - (size_t)(at - d->line.s));
}

/* ---- files ---- */

static int read_file(struct darshan *d, const char *path)
{
	int rc = trace_input_open(&d->in, path, d->err);

	d->before += d->most;
	d->most = 0;
	d->start_ns = d->due = d->there = 0;
	d->has_start = false;
	d->file = 0;
	buf_reset(&d->command);
	while (rc >= 0) {
		d->number = d->in.line;
		rc = trace_input_line(&d->in, &d->line, &d->m->tally.is_cut, d->err);
		if (rc <= 0)
			break;
		d->m->is_torn = d->m->tally.is_cut;
		rc = take_line(d);
	}
	d->m->is_torn = false;
	if (rc == 0 && !d->has_start) {
		import_note(
			d->m,
			"%s: no line '# start_time:' says when the job began; times are from there",
			d->in.name);
		d->m->no_clock = "the log does not say when the job began";
	}
	if (rc == 0 && d->there < d->due)
		d->missing += d->due - d->there;
	trace_input_close(&d->in);
	return rc;
}

static void end_all(struct darshan *d)
{
	if (d->host.len && !d->has_hosts)
		trace_fill_fact(d->m->fill, "host", buf_str(&d->host));
	import_note(d->m,
		    "Darshan's DXT has reads and writes; no open, close, stat or sync is in it, "
		    "and nothing that failed. Its times have %u decimals of a second",
		    d->decimals);
	import_note(d->m, "a process is its rank plus one, since the log has no pids");
	if (d->repeated)
		import_note(d->m,
			    "%" PRIu64 " row%s of X_MPIIO repeat%s what X_POSIX has of the same "
			    "files, and %s left out",
			    d->repeated, plural(d->repeated), d->repeated == 1 ? "s" : "",
			    d->repeated == 1 ? "is" : "are");
	if (d->alone)
		import_note(d->m,
			    "%" PRIu64
			    " row%s of X_MPIIO %s of files that X_POSIX does not have above them: "
			    "calls of MPI-IO, and not what storage was asked for",
			    d->alone, plural(d->alone), d->alone == 1 ? "is" : "are");
	if (d->partial)
		import_note(d->m,
			    "Darshan says that its data are incomplete: it had no memory for more");
	if (d->missing)
		import_note(d->m,
			    "%" PRIu64 " row%s that the heads of the files count %s not there",
			    d->missing, plural(d->missing), d->missing == 1 ? "is" : "are");
}

int import_darshan(struct importing *m, struct mlgen_err *err)
{
	struct darshan d = { .m = m, .err = err, .in.fd = -1 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < m->file_count; i++)
		rc = read_file(&d, m->files[i]);
	if (rc == 0)
		rc = import_judge(m, "darshan", err);
	if (rc == 0)
		end_all(&d);
	map_fini(&d.posix);
	map_fini(&d.processes);
	map_fini(&d.threads);
	vec_fini(&d.first_thread);
	buf_fini(&d.line);
	buf_fini(&d.command);
	buf_fini(&d.host);
	return rc;
}
