/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill.c - --format=mcgill: what bpftrace printed for the scripts of McGill, of one recording. */

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

/* ---- the files of one recording by McGill's scripts, in the order in which they are read ---- */

struct mcgill_file {
	char *path;
	enum mcgill_kind kind; /* MCGILL_NONE: its header will say */
};

/* A zeroed one has none. */
struct mcgill_files {
	struct mcgill_file *at;
	size_t count, room;
};

/* A header is among the first lines. */
enum { LINES_LOOKED_AT = 8 };

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
			  "%s: no file of McGill's scripts is in it; they are trace_read.out, "
			  "trace_openat.out and so on",
			  path);
}

/* Of a file by a name of its own. What cannot be read is told later. */
static enum mcgill_kind kind_by_header(const char *path)
{
	struct mlgen_err unused = { 0 };
	struct mcgill_form form = { .kind = MCGILL_NONE };
	struct buf line = { 0 };
	struct trace_input in;
	bool is_cut;
	int rc = trace_input_open(&in, path, &unused);

	in.only_looks = true;
	for (int i = 0; rc == 0 && i < LINES_LOOKED_AT; i++)
		if (trace_input_line(&in, &line, &is_cut, &unused) <= 0 ||
		    (mcgill_header(&form, buf_str(&line)) && form.kind))
			break;
	trace_input_close(&in);
	buf_fini(&line);
	return form.kind;
}

static int add_given(struct mcgill_files *f, const char *path, struct mlgen_err *err)
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
		kind = kind_by_header(path);
	add_file(f, path, kind);
	return 0;
}

static int rank_of(const struct mcgill_file *f)
{
	return f->kind != MCGILL_CLOCK && f->kind != MCGILL_OPEN;
}

static int compare_files(const void *a, const void *b)
{
	const struct mcgill_file *x = a, *y = b;

	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	return strcmp(x->path, y->path);
}

/*
 * As given; a directory stands for those of the set that are in it. What has paths and clocks comes
 * first, so that the others can use it. 0, or -errno with err.
 */
static int mcgill_files_find(struct mcgill_files *f, const char *const *given, size_t count,
			     struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_given(f, given[i], err);
	if (rc == 0 && f->count)
		qsort(f->at, f->count, sizeof(*f->at), compare_files);
	return rc;
}

/* ---- whole paths of files of which a log has the last part of the name ---- */

/* A name is not that of one path. */
#define SEVERAL UINT32_MAX

struct name {
	uint32_t path; /* 0 = none yet */
	bool is_counted;
};

struct mcgill_names {
	struct trace_names *names;
	VEC(struct name) of; /* each name's, by its id */
	uint64_t ambiguous;  /* names that several paths have, and were asked for */
};

static struct name *find_name(struct mcgill_names *n, struct mcgill_text name)
{
	uint32_t id = trace_names_id(n->names, name.s, name.bytes, NULL);

	while (n->of.count <= id)
		vec_push(&n->of, (struct name){ 0 });
	return &n->of.at[id];
}

/* A file of this name was opened by a path, of which this is the id. */
static void mcgill_names_opened(struct mcgill_names *n, struct mcgill_text name, uint32_t path)
{
	struct name *found = find_name(n, name);

	if (!found->path)
		found->path = path;
	else if (found->path != path)
		found->path = SEVERAL;
}

/* The one path that it was opened by; 0 = none, or there were several, which counts. */
static uint32_t mcgill_names_path(struct mcgill_names *n, struct mcgill_text name)
{
	struct name *found = find_name(n, name);

	if (found->path != SEVERAL)
		return found->path;
	n->ambiguous += !found->is_counted;
	found->is_counted = true;
	return 0;
}

/* ---- the recording ---- */

#define NS_PER_DAY (INT64_C(86400) * (int64_t)NS_PER_S)
/* What is known to better than this needs no word. */
#define CLOCK_SURE_NS (INT64_C(10) * 1000000)
enum { PATH_CUT_BYTES = 63 };

/* Time of day less that since boot, of lines that say whole seconds of it. */
struct align {
	bool is_known;
	int64_t first_ns;    /* of the first line */
	int64_t least, most; /* of the others, from there */
};

struct reading {
	struct importing *m;
	struct mlgen_err *err;
	struct mcgill_names names;
	const char *file;
	struct mcgill_form form;
	struct align align;
	struct buf scratch;
	uint64_t logs;   /* writes to logs, left out */
	uint64_t failed; /* opens of which the kernel had no file */
	uint64_t cut;    /* paths */
	uint64_t lost;
};

/* ---- files ---- */

static uint32_t name_of(struct reading *r, struct mcgill_text t)
{
	return t.bytes ? trace_fill_name(r->m->fill, t.s, t.bytes) : 0;
}

/* bpftrace cuts a path; its last part is known as a whole. */
static uint32_t path_of_open(struct reading *r, const struct mcgill_line *l)
{
	const char *slash = memrchr(l->path.s, '/', l->path.bytes);
	size_t before = slash ? (size_t)(slash - l->path.s) + 1 : 0;
	size_t behind = l->path.bytes - before;

	if (l->path.bytes < PATH_CUT_BYTES || !l->name.bytes)
		return name_of(r, l->path);
	if (behind == l->name.bytes && memcmp(l->path.s + before, l->name.s, behind) == 0)
		return name_of(r, l->path);
	r->cut++;
	if (behind > l->name.bytes || memcmp(l->path.s + before, l->name.s, behind) != 0)
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

static int mcgill_put(struct reading *r, const struct trace_record *to)
{
	return trace_fill_add(r->m->fill, to, r->err);
}

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

static int put_open(struct reading *r, const struct mcgill_line *l)
{
	struct trace_record to = record_of(l);

	to.off = TRACE_UNKNOWN;
	to.file = path_of_open(r, l);
	if (l->op == TRACE_OPEN && l->has_name && !l->name.bytes) {
		to.result = -ENOENT;
		r->failed++;
	}
	if (l->name.bytes && to.file)
		mcgill_names_opened(&r->names, l->name, to.file);
	return mcgill_put(r, &to);
}

static int put_call(struct reading *r, const struct mcgill_line *l)
{
	struct trace_record to = record_of(l);
	uint32_t path;

	if (l->op == TRACE_WRITE && is_log(&l->name)) {
		r->logs++;
		return 0;
	}
	if (l->op != TRACE_MUNMAP && to.off > INT64_MAX)
		to.off = TRACE_UNKNOWN;
	path = l->name.bytes ? mcgill_names_path(&r->names, l->name) : 0;
	to.file = path ? path : name_of(r, l->name);
	return mcgill_put(r, &to);
}

/* From when it was issued to when it was done. */
static int put_block(struct reading *r, const struct mcgill_line *l)
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
	rc = mcgill_put(r, &to);
	to.op = TRACE_BLOCK_COMPLETE;
	to.start_ns = l->time_ns;
	to.pid = to.tid = 0;
	return rc < 0 ? rc : mcgill_put(r, &to);
}

/* ---- the clock ---- */

/* Within half a day of what it was first. */
static int64_t within_day(int64_t ns)
{
	ns %= NS_PER_DAY;
	if (ns < -NS_PER_DAY / 2)
		ns += NS_PER_DAY;
	return ns > NS_PER_DAY / 2 ? ns - NS_PER_DAY : ns;
}

static void take_clock(struct align *a, const struct mcgill_line *l)
{
	int64_t offset =
		(int64_t)(l->day_s * NS_PER_S) - (int64_t)(l->time_ns % (uint64_t)NS_PER_DAY);

	if (!a->is_known)
		*a = (struct align){ .is_known = true, .first_ns = offset };
	offset = within_day(offset - a->first_ns);
	if (offset < a->least)
		a->least = offset;
	if (offset > a->most)
		a->most = offset;
}

/* A second that is said began at most a second ago: so each line says from where to where the
 * difference is. It is said a little late, so of lines that cannot all be right those count that
 * say the least. */
static void set_clock(struct reading *r)
{
	const struct align *a = &r->align;
	int64_t from = a->most, to = a->least + (int64_t)NS_PER_S, middle;

	if (!a->is_known) {
		r->m->no_clock = "there is no trace_time_align.out, which has the time of day";
		return;
	}
	if (from > to)
		from = to;
	middle = (a->first_ns + from + (to - from) / 2) % NS_PER_DAY;
	r->m->clock_offset_ns = (uint64_t)(middle < 0 ? middle + NS_PER_DAY : middle);
	r->m->is_day_unknown = true;
	if (to - from > CLOCK_SURE_NS)
		import_note(r->m,
			    "the time of day is known to %" PRId64 " ms, by trace_time_align.out",
			    (to - from) / 2000000 + 1);
}

/* ---- lines ---- */

static int take_record(struct reading *r, const struct mcgill_line *l)
{
	struct trace_record to;

	switch (r->form.kind) {
	case MCGILL_CLOCK:
		take_clock(&r->align, l);
		return 0;
	case MCGILL_OPEN:
		return put_open(r, l);
	case MCGILL_CREATE: /* creat(), mkdir(), rmdir(), unlink() */
		to = record_of(l);
		to.off = TRACE_UNKNOWN;
		if (l->op == TRACE_OPEN)
			to.len_bytes = O_WRONLY | O_CREAT | O_TRUNC;
		to.file = name_of(r, l->path);
		return mcgill_put(r, &to);
	case MCGILL_BLOCK:
		return put_block(r, l);
	default:
		return put_call(r, l);
	}
}

/* "Lost 12 events", of bpftrace. */
static bool take_lost(struct reading *r, const char *line)
{
	static const char lost[] = "Lost ";
	uint64_t number[] = { TRACE_NONE, 0 };

	if (strncmp(line, lost, strlen(lost)) != 0)
		return false;
	line += strlen(lost);
	if (trace_number_take(line, strcspn(line, " "), UINT32_MAX, &number[1]))
		return false;
	r->lost += number[1];
	trace_fill_entry(r->m->fill, TRACE_LOST, number, ARRAY_LEN(number),
			 "bpftrace had no room for them");
	return true;
}

static int take_line(struct reading *r, const char *text, uint64_t line)
{
	struct mcgill_line l;
	const char *wrong;

	if (!*text || mcgill_header(&r->form, text) || take_lost(r, text))
		return 0;
	r->m->tally.lines++;
	if (r->form.kind == MCGILL_NONE)
		return import_unread(
			r->m, r->file, line, r->err,
			"is of none of McGill's scripts, by the file's name and by its header");
	wrong = mcgill_line_take(&r->form, text, &l);
	if (!wrong && l.latency_ns > l.time_ns)
		wrong = "took longer than the host is up";
	if (wrong)
		return import_unread(r->m, r->file, line, r->err, "%s", wrong);
	return take_record(r, &l);
}

static int read_file(struct reading *r, const struct mcgill_file *f)
{
	struct buf line = { 0 };
	struct trace_input in;
	bool is_cut = false;
	int rc;

	r->file = f->path;
	r->form = (struct mcgill_form){ .kind = f->kind };
	rc = trace_input_open(&in, f->path, r->err);
	while (rc == 0) {
		rc = trace_input_line(&in, &line, &is_cut, r->err);
		if (rc <= 0)
			break;
		r->m->is_torn = is_cut;
		rc = take_line(r, buf_str(&line), in.line - !is_cut);
	}
	r->m->is_torn = false;
	if (rc == 0 && is_cut)
		import_note(r->m, "%s: the last line has no end; is the file whole?", in.name);
	trace_input_close(&in);
	buf_fini(&line);
	return rc;
}

static void mcgill_tell(struct reading *r)
{
	uint64_t several = r->names.ambiguous;

	if (r->logs)
		import_note(r->m,
			    "left out: %" PRIu64 " write%s to a terminal (0) or a log (*.log)",
			    r->logs, plural(r->logs));
	if (r->failed)
		import_note(r->m,
			    "%" PRIu64 " open%s without a file failed; which error is not known, "
			    "and is taken as ENOENT",
			    r->failed, plural(r->failed));
	if (r->cut)
		import_note(r->m,
			    "%" PRIu64 " path%s of opens end after %d bytes; their names are known",
			    r->cut, plural(r->cut), PATH_CUT_BYTES);
	if (several)
		import_note(r->m,
			    "%" PRIu64
			    " name%s of files stand for several paths, and stay as they are",
			    several, plural(several));
	if (r->lost)
		import_note(r->m, "bpftrace lost %" PRIu64 " event%s of the recording", r->lost,
			    plural(r->lost));
}

static int read_all(struct reading *r, const struct mcgill_files *f)
{
	size_t others = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->count; i++) {
		others += f->at[i].kind == MCGILL_OTHER;
		if (f->at[i].kind != MCGILL_OTHER)
			rc = read_file(r, &f->at[i]);
	}
	if (rc == 0 && others)
		import_note(r->m, "%zu file%s without calls not read", others, plural(others));
	return rc;
}

int import_mcgill(struct importing *m, struct mlgen_err *err)
{
	struct reading r = { .m = m, .err = err };
	struct mcgill_files files = { 0 };
	int rc = mcgill_files_find(&files, m->files, m->file_count, err);

	r.names.names = trace_names_new();
	if (rc == 0)
		rc = read_all(&r, &files);
	if (rc == 0) {
		set_clock(&r);
		mcgill_tell(&r);
		rc = import_judge(m, "mcgill", err);
	}
	trace_names_free(r.names.names);
	vec_fini(&r.names.of);
	for (size_t i = 0; i < files.count; i++)
		mem_free(files.at[i].path);
	vec_fini(&files);
	buf_fini(&r.scratch);
	return rc;
}
