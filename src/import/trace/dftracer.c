/* SPDX-License-Identifier: Apache-2.0 */
/* dftracer.c - --import=dftracer: what DFTracer, or DLIO Profiler before it, wrote of calls on
 * files and of a training. */
#include "import/trace/importer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "describe/keyed.h"
#include "import/trace/calls.h"
#include "import/trace/dftracer_marks.h"
#include "import/trace/dftracer_names.h"
#include "import/trace/json_objects.h"

/* The units of time that a log may be in (DFTracer's TimeMetric). */
static const struct time_metric {
	const char *name;
	uint64_t ns;
} time_metrics[] = {
	{ "NS", 1 },
	{ "US", 1000 },
	{ "MS", 1000000 },
	{ "SEC", 1000000000 },
};

#define NS_PER_US 1000u

struct dftracer {
	struct importing *m;
	struct mlgen_err *err;
	struct json_objects objects;
	struct calls *calls;
	struct dftracer_names *names;
	struct dftracer_marks marks;
	/* Files that a process opens, reads or writes by POSIX: those of STDIO are above them, and
	 * the same I/O again. */
	struct keyed posix;
	uint64_t unit_ns;         /* of the times of this file */
	uint64_t timed;           /* events of this file, read by that unit */
	uint64_t repeated, stdio; /* calls of STDIO, left out and taken */
	uint64_t causeless;       /* failed, nobody says why */
	uint64_t others;          /* events that are not complete ones */
};

static int dftracer_unread(struct dftracer *d, const char *why)
{
	return json_objects_unread(&d->objects, why);
}

/* ---- members ---- */

static const char *text_in(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Names of a version each; those that no version has are NULL. */
#define ANY_OF(...) ((const char *const[]){ __VA_ARGS__, NULL })

static bool number_in(const json_t *args, const char *const *names, int64_t *out)
{
	return json_whole(json_member(args, names), out);
}

static uint64_t size_in(const json_t *args, const char *const *names)
{
	int64_t v;

	return number_in(args, names, &v) && v >= 0 ? (uint64_t)v : TRACE_UNKNOWN;
}

/* Threads of old versions are numbers of 64 bits. */
static uint32_t task_of(const json_t *value)
{
	int64_t v = 0;

	if (!json_whole(value, &v))
		return 0;
	return (uint32_t)((uint64_t)v ^ (uint64_t)v >> 32);
}

/* A hash is a text, or a number in old versions. */
static const char *hash_text(const json_t *value, char *room, size_t bytes)
{
	int64_t v;

	if (json_is_string(value))
		return json_string_value(value);
	if (!json_whole(value, &v))
		return NULL;
	snprintf(room, bytes, "%" PRId64, v);
	return room;
}

static uint32_t file_in(struct dftracer *d, const json_t *args, const char *const *clear,
			const char *const *hashed)
{
	const char *name = json_string_value(json_member(args, clear));
	char room[24];
	const char *hash;

	if (has_text(name))
		return trace_fill_name(d->m->fill, name, strlen(name));
	hash = hash_text(json_member(args, hashed), room, sizeof(room));
	return has_text(hash) ? dftracer_names_file(d->names, hash) : 0;
}

/* ---- calls ---- */

/* Items of fread and fwrite are no bytes. */
static void take_items(const json_t *args, struct call_seen *s)
{
	uint64_t item = size_in(args, ANY_OF("size"));
	uint64_t count = size_in(args, ANY_OF("count", "nmemb", "nitems"));

	if (item == TRACE_UNKNOWN || count == TRACE_UNKNOWN ||
	    __builtin_mul_overflow(item, count, &s->bytes))
		s->bytes = TRACE_UNKNOWN;
	if (s->has_result && (s->result < 0 || item > INT64_MAX ||
			      __builtin_mul_overflow(s->result, (int64_t)item, &s->result)))
		s->has_result = false;
}

static void take_result(struct dftracer *d, const json_t *args, struct call_seen *s)
{
	int64_t code;

	s->has_result = number_in(args, ANY_OF("ret", "result"), &s->result);
	if (!s->has_result || s->result != -1)
		return;
	if (number_in(args, ANY_OF("errno"), &code) && code > 0) {
		s->result = -code;
		return;
	}
	s->result = -EIO;
	d->causeless++;
}

static void take_args(struct dftracer *d, const struct call *k, const json_t *args,
		      struct call_seen *s)
{
	int64_t off;

	take_result(d, args, s);
	s->bytes = size_in(args, ANY_OF("count", "nbyte", "size", "length", "len", "size_sum"));
	if (k->is_stdio && k->kind == CALL_MOVES)
		take_items(args, s);
	else if (k->is_stdio)
		s->has_result = false; /* a pointer, or how it went */
	if (!number_in(args, ANY_OF("fd"), &s->fd))
		s->fd = -1;
	if (!number_in(args, ANY_OF("whence"), &s->whence))
		s->whence = -1;
	s->off =
		number_in(args, ANY_OF("offset", "off"), &off) && (off >= 0 || k->kind == CALL_SEEK)
			? (uint64_t)off
			: TRACE_UNKNOWN;
	s->flags = size_in(args, ANY_OF("flags"));
	s->file = file_in(d, args, ANY_OF("fname", "filename", "pathname", "path", "oldpath"),
			  ANY_OF("fhash", "oldpath_hash"));
	if (k->kind == CALL_RENAME)
		s->becomes = file_in(d, args, ANY_OF("newpath", "newname"), ANY_OF("newpath_hash"));
}

/* False: it is there already, by what it called. */
static bool is_wanted(struct dftracer *d, const struct call *k, const struct call_seen *s)
{
	uint64_t key = (uint64_t)s->pid << 32 | s->file;
	uint32_t number;
	bool is_new;

	if (k->kind == CALL_QUIET || !s->file)
		return true;
	if (!k->is_stdio) {
		if (k->kind == CALL_OPEN || k->kind == CALL_MOVES)
			keyed_number(&d->posix, key, &is_new);
		return true;
	}
	if (keyed_find(&d->posix, key, &number)) {
		d->repeated++;
		return false;
	}
	d->stdio++;
	return true;
}

static int take_call(struct dftracer *d, const struct dftracer_event *e)
{
	const struct call *k = call_find(e->name);
	struct call_seen s = {
		.pid = e->pid,
		.tid = e->tid,
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns,
	};

	if (!k) {
		import_unknown(d->m, e->name);
		return 0;
	}
	take_args(d, k, e->args, &s);
	return is_wanted(d, k, &s) ? calls_take(d->calls, k, &s, d->err) : 0;
}

/* ---- events ---- */

static bool is_cat(const char *cat, const char *name)
{
	return strcasecmp(cat, name) == 0;
}

/*
 * The unit of the times that follow. A file says it once, among its first events; times that were
 * read by another unit cannot be mended, so that a file that says it later is refused.
 */
static int take_unit(struct dftracer *d, const char *value)
{
	const struct time_metric *t = time_metrics;

	while (t < time_metrics + ARRAY_LEN(time_metrics) && strcasecmp(t->name, value) != 0)
		t++;
	if (t == time_metrics + ARRAY_LEN(time_metrics))
		return trace_input_refuse(&d->objects.in, d->objects.line, d->err,
					  "time_metric '%.40s' is no unit of time that is known; "
					  "they are NS, US, MS and SEC",
					  value);
	if (d->timed && t->ns != d->unit_ns)
		return trace_input_refuse(&d->objects.in, d->objects.line, d->err,
					  "time_metric %s comes after %" PRIu64
					  " event%s whose times have another unit; move the event "
					  "CM to the beginning of the file",
					  t->name, d->timed, plural(d->timed));
	d->unit_ns = t->ns;
	return 0;
}

/* What a hash stands for, or how the log was made. */
static int take_name(struct dftracer *d, const json_t *event)
{
	const json_t *args = json_object_get(event, "args");
	const char *what = text_in(event, "name");
	const char *name = text_in(args, "name");
	char room[24];
	const char *value =
		hash_text(json_member(args, ANY_OF("value", "hash")), room, sizeof(room));

	if (!what || !has_text(name) || !has_text(value))
		return 0;
	if (strcmp(what, "CM") == 0 && strcmp(name, "time_metric") == 0)
		return take_unit(d, value);
	if (strcmp(what, "FH") == 0)
		dftracer_names_explain(d->names, value, name);
	return 0;
}

static int take_complete(struct dftracer *d, const json_t *event)
{
	const json_t *dur = json_object_get(event, "dur");
	struct dftracer_event e = {
		.name = text_in(event, "name"),
		.cat = text_in(event, "cat"),
		.pid = task_of(json_object_get(event, "pid")),
		.tid = task_of(json_object_get(event, "tid")),
		.args = json_object_get(event, "args"),
	};

	if (!e.name || !e.cat)
		return dftracer_unread(d, "an event without name or cat, which say what it is");
	if (!json_time(json_object_get(event, "ts"), d->unit_ns, &e.start_ns))
		return dftracer_unread(d, "an event without ts, the time at which it began, in "
					  "microseconds or the log's time_metric");
	if (dur && !json_time(dur, d->unit_ns, &e.duration_ns))
		return dftracer_unread(
			d, "dur is no number of microseconds, or the log's time_metric");
	d->timed++;
	if (is_cat(e.cat, "POSIX") || is_cat(e.cat, "STDIO"))
		return take_call(d, &e);
	/* Where it began and ended itself. */
	if (is_cat(e.cat, "dftracer") || is_cat(e.cat, "dlio_profiler"))
		return 0;
	return dftracer_marks_take(&d->marks, d->m, &e, d->err);
}

/*
 * The kind of an event: the letter of the Chrome trace format or, since DFTracer writes numbers
 * (enum EventType), the letter that a number stands for. 0 = an event without a kind that could be
 * known.
 */
static char kind_of(const json_t *event)
{
	static const char by_number[] = { 0, 'X', 'C', 'A', 'M' };
	const json_t *ph = json_object_get(event, "ph");
	const char *letter = json_string_value(ph);
	int64_t number;

	if (!json_whole(ph, &number))
		return letter ? *letter : 0;
	return number > 0 && number < (int64_t)ARRAY_LEN(by_number) ? by_number[number] : 0;
}

static int take_event(void *who, const json_t *event)
{
	struct dftracer *d = who;

	switch (kind_of(event)) {
	case 0:
		return dftracer_unread(
			d,
			"an event without ph, its kind; X or 1 is a complete one, M or 4 a name");
	case 'X':
		return take_complete(d, event);
	case 'M':
		return take_name(d, event);
	default:
		d->others++;
		return 0;
	}
}

static void dftracer_tell(struct dftracer *d)
{
	uint64_t nameless = dftracer_names_unexplained(d->names);

	if (d->stdio)
		import_note(d->m,
			    "%" PRIu64
			    " call%s of STDIO %s taken, of files without calls of POSIX in the "
			    "same process; sizes are those of fread and fwrite, not of read(2)",
			    d->stdio, plural(d->stdio), d->stdio == 1 ? "is" : "are");
	if (d->repeated)
		import_note(d->m,
			    "%" PRIu64
			    " call%s of STDIO %s above calls of POSIX that are there, and left out",
			    d->repeated, plural(d->repeated), d->repeated == 1 ? "is" : "are");
	if (d->causeless)
		import_note(
			d->m,
			"%" PRIu64
			" call%s failed, and the log does not say why; the trace has EIO for it",
			d->causeless, plural(d->causeless));
	if (nameless)
		import_note(d->m,
			    "%" PRIu64 " file%s without a name, since no event FH explains the "
			    "hash; is a file of the log missing?",
			    nameless, plural(nameless));
	if (d->others)
		import_note(d->m,
			    "%" PRIu64
			    " event%s left out: neither complete (ph X or 1) nor a name (M or 4)",
			    d->others, plural(d->others));
	calls_tell(d->calls);
}

static int dftracer_file(struct dftracer *d, const char *path)
{
	d->unit_ns = NS_PER_US;
	d->timed = 0;
	return json_objects_read(&d->objects, path, take_event, d);
}

int import_dftracer(struct importing *m, struct mlgen_err *err)
{
	struct dftracer d = { .m = m, .err = err };
	int rc = 0;

	d.objects.m = m;
	d.objects.err = err;
	d.calls = calls_new(m, false);
	d.names = dftracer_names_new(m->fill);
	for (size_t i = 0; rc == 0 && i < m->file_count; i++)
		rc = dftracer_file(&d, m->files[i]);
	if (rc == 0)
		rc = import_judge(m, "dftracer", err);
	if (rc == 0)
		rc = dftracer_marks_end(&d.marks, m, err);
	if (rc == 0)
		dftracer_tell(&d);
	keyed_fini(&d.posix);
	dftracer_marks_fini(&d.marks);
	dftracer_names_free(d.names);
	calls_free(d.calls);
	json_objects_fini(&d.objects);
	return rc;
}
