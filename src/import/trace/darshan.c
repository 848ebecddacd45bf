/* SPDX-License-Identifier: Apache-2.0 */
/* darshan.c - --import=darshan: what DXT of Darshan has of a job's reads and writes, from the text
 * of darshan-dxt-parser. */
#include "import/trace/importer.h"

#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "base/vec.h"
#include "describe/keyed.h"
#include "import/trace/darshan_row.h"
#include "trace/trace_number.h"

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
	struct keyed posix;         /* files that have rows of this module */
	struct keyed processes;     /* pids, and ... */
	VEC(uint64_t) first_thread; /* of each, by its number there */
	struct keyed threads;       /* that are not the first */
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

static void take_start(struct darshan *d, const char *s, size_t bytes)
{
	unsigned unused;

	d->has_start = !darshan_seconds(s, bytes, &d->start_ns, &unused);
	if (!d->has_start)
		d->start_ns = 0;
}

static void put_fact(struct darshan *d, const char *key, const char *value)
{
	trace_fill_fact(d->m->fill, key, value);
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
	const char *s = value_of(d, ":", NULL, &bytes);

	if (!s)
		return;
	if (strncmp(text, "# start_time:", 13) == 0)
		take_start(d, s, bytes);
	else if (strncmp(text, "# jobid:", 8) == 0)
		put_fact(d, "job", s);
	else if (strncmp(text, "# nprocs:", 9) == 0)
		put_fact(d, "ranks", s);
	else if (strncmp(text, "# exe:", 6) == 0) {
		buf_reset(&d->command);
		buf_addn(&d->command, s, bytes);
		put_fact(d, "command", s);
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
	uint32_t number = keyed_number(&d->processes, pid, &is_new);

	if (is_new)
		return new_process(d, pid, thread);
	if (d->first_thread.at[number] == NO_THREAD)
		d->first_thread.at[number] = thread;
	if (d->first_thread.at[number] == thread || !r->has_thread)
		return pid;
	/* Addresses, of 47 bits, or numbers of 32. */
	return OTHER_THREADS + keyed_number(&d->threads, (uint64_t)pid << 47 ^ thread, &is_new);
}

/* MPI-IO calls read and write: what it did is there again. False: left out. */
static bool is_wanted(struct darshan *d, enum module module)
{
	uint32_t number;
	bool is_new;

	if (module == MODULE_POSIX) {
		keyed_number(&d->posix, d->file, &is_new);
		return true;
	}
	if (keyed_find(&d->posix, d->file, &number)) {
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

static void begin_file(struct darshan *d)
{
	d->before += d->most;
	d->most = 0;
	d->start_ns = d->due = d->there = 0;
	d->has_start = false;
	d->file = 0;
	buf_reset(&d->command);
}

static void end_file(struct darshan *d)
{
	if (!d->has_start) {
		import_note(
			d->m,
			"%s: no line '# start_time:' says when the job began; times are from there",
			d->in.name);
		d->m->no_clock = "the log does not say when the job began";
	}
	if (d->there < d->due)
		d->missing += d->due - d->there;
}

static int read_file(struct darshan *d, const char *path)
{
	int rc = trace_input_open(&d->in, path, d->err);

	begin_file(d);
	while (rc >= 0) {
		d->number = d->in.line;
		rc = trace_input_line(&d->in, &d->line, &d->m->tally.is_cut, d->err);
		if (rc <= 0)
			break;
		d->m->is_torn = d->m->tally.is_cut;
		rc = take_line(d);
	}
	d->m->is_torn = false;
	if (rc == 0)
		end_file(d);
	trace_input_close(&d->in);
	return rc;
}

static void note_mpiio(struct darshan *d)
{
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
}

static void note_missing(struct darshan *d)
{
	if (d->partial)
		import_note(d->m,
			    "Darshan says that its data are incomplete: it had no memory for more");
	if (d->missing)
		import_note(d->m,
			    "%" PRIu64 " row%s that the heads of the files count %s not there",
			    d->missing, plural(d->missing), d->missing == 1 ? "is" : "are");
}

static void end_all(struct darshan *d)
{
	if (d->host.len && !d->has_hosts)
		put_fact(d, "host", buf_str(&d->host));
	import_note(d->m,
		    "Darshan's DXT has reads and writes; no open, close, stat or sync is in it, "
		    "and nothing that failed. Its times have %u decimals of a second",
		    d->decimals);
	import_note(d->m, "a process is its rank plus one, since the log has no pids");
	note_mpiio(d);
	note_missing(d);
}

static void darshan_fini(struct darshan *d)
{
	keyed_fini(&d->posix);
	keyed_fini(&d->processes);
	keyed_fini(&d->threads);
	vec_fini(&d->first_thread);
	buf_fini(&d->line);
	buf_fini(&d->command);
	buf_fini(&d->host);
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
	darshan_fini(&d);
	return rc;
}
