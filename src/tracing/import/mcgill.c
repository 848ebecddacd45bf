/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill.c - --format=mcgill: the output of McGill's bpftrace scripts for one recording. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/trace.h"
#include "tracing/import/import_internal.h"

/* ---- the files of a recording ---- */

struct mcgill_file {
	char *path;
	enum mcgill_kind kind; /* MCGILL_NONE: determined by the log's header */
};

/* Zeroed = none. */
struct mcgill_files {
	struct mcgill_file *at;
	size_t count, room;
};

/* The header is among the first lines. */
enum { HEADER_LINES_MAX = 8 };

static void add_file(struct mcgill_files *f, const char *path, enum mcgill_kind kind)
{
	vec_push(f, (struct mcgill_file){ .path = mem_strdup(path), .kind = kind });
}

static int add_directory(struct mcgill_files *f, const char *path, struct mlgen_err *err)
{
	DIR *dir = opendir(path);
	struct buf name = { 0 };
	struct dirent *e;
	size_t before = f->count;

	if (!dir)
		return mlgen_fail(err, -errno, "%s: cannot be read: %s", path, strerror(errno));
	while ((e = readdir(dir))) {
		enum mcgill_kind kind = mcgill_kind_of_name(e->d_name);
		size_t bytes = strlen(e->d_name);

		if (kind == MCGILL_NONE || kind == MCGILL_OTHER || bytes < 4 ||
		    strcmp(e->d_name + bytes - 4, ".out") != 0)
			continue;
		buf_reset(&name);
		buf_addf(&name, "%s/%s", path, e->d_name);
		add_file(f, buf_str(&name), kind);
	}
	closedir(dir);
	buf_fini(&name);
	if (f->count > before)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%s: contains no file of McGill's scripts, such as trace_read.out or "
			  "trace_openat.out",
			  path);
}

/* Read the kind of a file from its header. Errors are reported when the file is imported. */
static enum mcgill_kind read_kind(const char *path)
{
	struct mlgen_err unused = { 0 };
	struct mcgill_format format = { .kind = MCGILL_NONE };
	struct buf line = { 0 };
	struct trace_input in;
	bool is_cut;
	int rc = trace_input_open(&in, path, &unused);

	in.only_looks = true;
	for (int i = 0; rc == 0 && i < HEADER_LINES_MAX; i++)
		if (trace_input_line(&in, &line, &is_cut, &unused) <= 0 ||
		    (mcgill_header_parse(&format, buf_str(&line)) && format.kind))
			break;
	trace_input_close(&in);
	buf_fini(&line);
	return format.kind;
}

static int add_argument(struct mcgill_files *f, const char *path, struct mlgen_err *err)
{
	enum mcgill_kind kind = mcgill_kind_of_name(path);
	struct stat st;

	if (strcmp(path, "-") == 0) {
		add_file(f, path, MCGILL_NONE);
		return 0;
	}
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_directory(f, path, err);
	if (kind == MCGILL_NONE && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		kind = read_kind(path);
	add_file(f, path, kind);
	return 0;
}

/* Files with paths and clocks come first, since the other files need them. */
static int sort_rank(const struct mcgill_file *f)
{
	return f->kind != MCGILL_CLOCK && f->kind != MCGILL_OPEN;
}

static int compare_files(const void *a, const void *b)
{
	const struct mcgill_file *x = a, *y = b;

	if (sort_rank(x) != sort_rank(y))
		return sort_rank(x) - sort_rank(y);
	return strcmp(x->path, y->path);
}

/* ---- full paths of files by the last component ---- */

/* Several paths end with this name. */
#define SEVERAL UINT32_MAX

struct mcgill_name {
	uint32_t path; /* 0 = none yet */
	bool is_counted;
};

struct mcgill_names {
	struct trace_names *names;
	VEC(struct mcgill_name) of; /* index: id of the name */
	uint64_t ambiguous;         /* lookups of a name that several paths end with */
};

static struct mcgill_name *find_name(struct mcgill_names *n, struct mcgill_text name)
{
	uint32_t id = trace_names_id(n->names, name.s, name.bytes, NULL);

	while (n->of.count <= id)
		vec_push(&n->of, (struct mcgill_name){ 0 });
	return &n->of.at[id];
}

/* ---- the reader ---- */

#define NS_PER_DAY (INT64_C(86400) * (int64_t)NS_PER_S)
/* A smaller uncertainty of the clock is not worth a note. */
#define CLOCK_PRECISE_NS (INT64_C(10) * 1000000)
enum { PATH_CUT_BYTES = 63 };

/* Time of day minus time since boot, from lines with whole seconds of the day. */
struct mcgill_clock {
	bool is_known;
	int64_t first_ns; /* offset of the first line */
	int64_t min, max; /* offsets of all lines, relative to the first */
};

struct mcgill_reader {
	struct importing *m;
	struct mlgen_err *err;
	struct mcgill_names names;
	const char *file;
	struct mcgill_format format;
	struct mcgill_clock clock;
	struct buf scratch;
	uint64_t logs;   /* writes to logs, left out */
	uint64_t failed; /* opens without a file */
	uint64_t cut;    /* truncated paths */
	uint64_t lost;   /* events, according to bpftrace */
};

/* ---- files ---- */

static uint32_t name_of(struct mcgill_reader *r, struct mcgill_text t)
{
	return t.bytes ? trace_fill_name(r->m->fill, t.s, t.bytes) : 0;
}

/* The path of an open. bpftrace truncates paths, but the name is complete. */
static uint32_t path_of_open(struct mcgill_reader *r, const struct mcgill_line *l)
{
	const char *slash = memrchr(l->path.s, '/', l->path.bytes);
	size_t before = slash ? (size_t)(slash - l->path.s) + 1 : 0;
	size_t base = l->path.bytes - before;

	if (l->path.bytes < PATH_CUT_BYTES || !l->name.bytes)
		return name_of(r, l->path);
	if (base == l->name.bytes && memcmp(l->path.s + before, l->name.s, base) == 0)
		return name_of(r, l->path);
	r->cut++;
	if (base > l->name.bytes || memcmp(l->path.s + before, l->name.s, base) != 0)
		return name_of(r, l->name);
	buf_reset(&r->scratch);
	buf_addn(&r->scratch, l->path.s, before);
	buf_addn(&r->scratch, l->name.s, l->name.bytes);
	return trace_fill_name(r->m->fill, r->scratch.s, r->scratch.len);
}

static bool is_log(const struct mcgill_text *name)
{
	static const char end[] = ".log";
	size_t bytes = strlen(end);

	if (name->bytes == 1 && *name->s == '0')
		return true;
	return name->bytes >= bytes && memcmp(name->s + name->bytes - bytes, end, bytes) == 0;
}

/* ---- records ---- */

static struct trace_record record_of(const struct mcgill_line *l)
{
	return (struct trace_record){
		.start_ns = l->time_ns - l->latency_ns,
		.duration_ns = l->latency_ns,
		.off = l->off,
		.len_bytes = l->requested,
		.result = l->has_result ? l->result : 0,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = l->pid,
		.tid = l->tid,
		.op = l->op,
	};
}

static int add_open(struct mcgill_reader *r, const struct mcgill_line *l)
{
	struct trace_record to = record_of(l);
	struct mcgill_name *known;

	to.off = TRACE_UNKNOWN;
	to.file = path_of_open(r, l);
	if (l->op == TRACE_OPEN && l->has_name && !l->name.bytes) {
		to.result = -ENOENT;
		r->failed++;
	}
	if (l->name.bytes && to.file) {
		known = find_name(&r->names, l->name);
		known->path = !known->path || known->path == to.file ? to.file : SEVERAL;
	}
	return trace_fill_add(r->m->fill, &to, r->err);
}

static int add_call(struct mcgill_reader *r, const struct mcgill_line *l)
{
	struct trace_record to = record_of(l);
	struct mcgill_name *known;

	if (l->op == TRACE_WRITE && is_log(&l->name)) {
		r->logs++;
		return 0;
	}
	if (l->op != TRACE_MUNMAP && to.off > INT64_MAX)
		to.off = TRACE_UNKNOWN;
	if (l->name.bytes) {
		known = find_name(&r->names, l->name);
		if (known->path == SEVERAL) {
			r->names.ambiguous += !known->is_counted;
			known->is_counted = true;
		}
		to.file = known->path && known->path != SEVERAL ? known->path : name_of(r, l->name);
	}
	return trace_fill_add(r->m->fill, &to, r->err);
}

/* Add the issue and the completion of a request. */
static int add_block(struct mcgill_reader *r, const struct mcgill_line *l)
{
	struct trace_record to = record_of(l);
	int rc;

	buf_reset(&r->scratch);
	buf_add(&r->scratch, "/dev/");
	buf_addn(&r->scratch, l->disk.s, l->disk.bytes);
	to.file = trace_fill_name(r->m->fill, r->scratch.s, r->scratch.len);
	to.len_bytes = l->bytes;
	to.flags = l->writes ? TRACE_WRITES : 0;
	to.duration_ns = 0;
	rc = trace_fill_add(r->m->fill, &to, r->err);
	to.op = TRACE_BLOCK_COMPLETE;
	to.start_ns = l->time_ns;
	to.pid = to.tid = 0;
	return rc < 0 ? rc : trace_fill_add(r->m->fill, &to, r->err);
}

/* ---- the clock ---- */

static void widen_clock(struct mcgill_clock *a, const struct mcgill_line *l)
{
	int64_t offset =
		(int64_t)(l->day_s * NS_PER_S) - (int64_t)(l->time_ns % (uint64_t)NS_PER_DAY);

	if (!a->is_known)
		*a = (struct mcgill_clock){ .is_known = true, .first_ns = offset };
	/* Reduce the difference to within half a day. */
	offset = (offset - a->first_ns) % NS_PER_DAY;
	if (offset < -NS_PER_DAY / 2)
		offset += NS_PER_DAY;
	if (offset > NS_PER_DAY / 2)
		offset -= NS_PER_DAY;
	if (offset < a->min)
		a->min = offset;
	if (offset > a->max)
		a->max = offset;
}

/*
 * Set the offset of the clock. A printed second began at most a second before its line, so each
 * line bounds the offset from both sides. Lines are printed a little late; if the bounds contradict
 * each other, use the smallest offset.
 */
static void set_clock(struct mcgill_reader *r)
{
	const struct mcgill_clock *a = &r->clock;
	int64_t from = a->max, to = a->min + (int64_t)NS_PER_S, middle;

	if (!a->is_known) {
		r->m->no_clock = "trace_time_align.out is missing, which contains the time of day";
		return;
	}
	if (from > to)
		from = to;
	middle = (a->first_ns + from + (to - from) / 2) % NS_PER_DAY;
	r->m->clock_offset_ns = (uint64_t)(middle < 0 ? middle + NS_PER_DAY : middle);
	r->m->is_day_unknown = true;
	if (to - from > CLOCK_PRECISE_NS)
		import_note(r->m,
			    "the time of day is accurate to %" PRId64
			    " ms, according to trace_time_align.out",
			    (to - from) / 2000000 + 1);
}

/* ---- lines ---- */

/* Read "Lost 12 events" of bpftrace. */
static bool read_lost(struct mcgill_reader *r, const char *line)
{
	static const char lost[] = "Lost ";
	uint64_t number[] = { TRACE_NONE, 0 };

	if (strncmp(line, lost, strlen(lost)) != 0)
		return false;
	line += strlen(lost);
	if (trace_number_parse(line, strcspn(line, " "), UINT32_MAX, &number[1]))
		return false;
	r->lost += number[1];
	trace_fill_entry(r->m->fill, TRACE_LOST, number, ARRAY_LEN(number),
			 "bpftrace ran out of buffer space");
	return true;
}

static int read_line(struct mcgill_reader *r, const char *text, uint64_t line)
{
	struct trace_record to;
	struct mcgill_line l;
	const char *wrong;

	if (!*text || mcgill_header_parse(&r->format, text) || read_lost(r, text))
		return 0;
	r->m->tally.lines++;
	if (r->format.kind == MCGILL_NONE)
		return import_count_unread(
			r->m, r->file, line, r->err,
			"does not belong to McGill's scripts, according to its name and header");
	wrong = mcgill_line_parse(&r->format, text, &l);
	if (!wrong && l.latency_ns > l.time_ns)
		wrong = "took longer than the uptime of the host";
	if (wrong)
		return import_count_unread(r->m, r->file, line, r->err, "%s", wrong);
	switch (r->format.kind) {
	case MCGILL_CLOCK:
		widen_clock(&r->clock, &l);
		return 0;
	case MCGILL_OPEN:
		return add_open(r, &l);
	case MCGILL_CREATE: /* creat, mkdir, rmdir, unlink */
		to = record_of(&l);
		to.off = TRACE_UNKNOWN;
		if (l.op == TRACE_OPEN)
			to.len_bytes = O_WRONLY | O_CREAT | O_TRUNC;
		to.file = name_of(r, l.path);
		return trace_fill_add(r->m->fill, &to, r->err);
	case MCGILL_BLOCK:
		return add_block(r, &l);
	default:
		return add_call(r, &l);
	}
}

static int read_file(struct mcgill_reader *r, const struct mcgill_file *f)
{
	struct buf line = { 0 };
	struct trace_input in;
	bool is_cut = false;
	int rc;

	r->file = f->path;
	r->format = (struct mcgill_format){ .kind = f->kind };
	rc = trace_input_open(&in, f->path, r->err);
	while (rc == 0) {
		rc = trace_input_line(&in, &line, &is_cut, r->err);
		if (rc <= 0)
			break;
		r->m->is_torn = is_cut;
		rc = read_line(r, buf_str(&line), in.line - !is_cut);
	}
	r->m->is_torn = false;
	if (rc == 0 && is_cut)
		import_note(r->m, "%s: the last line is incomplete; is the file complete?",
			    in.name);
	trace_input_close(&in);
	buf_fini(&line);
	return rc;
}

static void add_notes(struct mcgill_reader *r)
{
	uint64_t several = r->names.ambiguous;

	if (r->logs)
		import_note(r->m,
			    "left out: %" PRIu64 " write%s to a terminal (0) or a log (*.log)",
			    r->logs, plural(r->logs));
	if (r->failed)
		import_note(r->m,
			    "%" PRIu64 " open%s without a file failed; the error is unknown, and "
			    "ENOENT is assumed",
			    r->failed, plural(r->failed));
	if (r->cut)
		import_note(r->m,
			    "%" PRIu64
			    " path%s of opens end after %d bytes; the names of the files are known",
			    r->cut, plural(r->cut), PATH_CUT_BYTES);
	if (several)
		import_note(r->m,
			    "%" PRIu64 " name%s of files match several paths, and remain as logged",
			    several, plural(several));
	if (r->lost)
		import_note(r->m, "bpftrace lost %" PRIu64 " event%s of the recording", r->lost,
			    plural(r->lost));
}

int import_mcgill(struct importing *m, struct mlgen_err *err)
{
	struct mcgill_reader r = { .m = m, .err = err };
	struct mcgill_files files = { 0 };
	size_t without_calls = 0;
	int rc = 0;

	/* A directory stands for the files of the set that are in it. */
	for (size_t i = 0; rc == 0 && i < m->file_count; i++)
		rc = add_argument(&files, m->files[i], err);
	if (rc == 0 && files.count)
		qsort(files.at, files.count, sizeof(*files.at), compare_files);
	r.names.names = trace_names_new();
	for (size_t i = 0; rc == 0 && i < files.count; i++) {
		if (files.at[i].kind == MCGILL_OTHER)
			without_calls++;
		else
			rc = read_file(&r, &files.at[i]);
	}
	if (rc == 0) {
		if (without_calls)
			import_note(m, "%zu file%s without calls not read", without_calls,
				    plural(without_calls));
		set_clock(&r);
		add_notes(&r);
		rc = import_check_unread(m, "mcgill", err);
	}
	trace_names_free(r.names.names);
	vec_fini(&r.names.of);
	for (size_t i = 0; i < files.count; i++)
		mem_free(files.at[i].path);
	vec_fini(&files);
	buf_fini(&r.scratch);
	return rc;
}
