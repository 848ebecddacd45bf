/* SPDX-License-Identifier: Apache-2.0 */
/* dftracer.c - --format=dftracer: what DFTracer, or DLIO Profiler before it, wrote of calls on
 * files and of a training. */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/trace.h"
#include "tracing/import/import_internal.h"

/* ---- files that events name by a hash, which another event explains ---- */

struct hashed {
	uint32_t file;
	bool is_explained;
};

/*
 * An event FH says what a hash stands for, mostly before the first event that has it, and in a file
 * that was sorted anywhere. A file that is not explained yet is called "hash H", until it is.
 */
struct dftracer_names {
	struct trace_fill *fill;
	struct trace_names *hashes; /* numbers of them */
	VEC(struct hashed) files;   /* by number, less one */
	uint64_t unexplained;       /* so far */
};

static struct hashed *dftracer_names_find(struct dftracer_names *n, const char *hash, bool *is_new)
{
	uint32_t id = trace_names_id(n->hashes, hash, strlen(hash), is_new);

	while (n->files.count < id)
		vec_push(&n->files, (struct hashed){ 0 });
	return &n->files.at[id - 1];
}

/* What FH says. */
static void dftracer_names_explain(struct dftracer_names *n, const char *hash, const char *name)
{
	bool is_new;
	struct hashed *h = dftracer_names_find(n, hash, &is_new);
	uint64_t id;

	if (!is_new && h->is_explained)
		return;
	if (is_new) {
		h->file = trace_fill_name(n->fill, name, strlen(name));
	} else {
		/* The later entry of an id counts. */
		id = h->file;
		trace_fill_entry(n->fill, TRACE_FILE, &id, 1, name);
		n->unexplained--;
	}
	h->is_explained = true;
}

/* The id of a file (trace_fill_name). */
static uint32_t dftracer_names_file(struct dftracer_names *n, const char *hash)
{
	bool is_new;
	struct hashed *h = dftracer_names_find(n, hash, &is_new);
	struct buf name = { 0 };

	if (!is_new)
		return h->file;
	buf_addf(&name, "hash %s", hash);
	h->file = trace_fill_name(n->fill, name.s, name.len);
	h->is_explained = false;
	n->unexplained++;
	buf_fini(&name);
	return h->file;
}

/* ---- events of the application, such as epochs and steps of DLIO, as markers of a trace ---- */

/* An event above files. */
struct dftracer_event {
	const char *name, *cat;
	uint32_t pid, tid;
	uint64_t start_ns, duration_ns;
	const json_t *args; /* NULL = none */
};

struct dftracer_span {
	uint64_t number, start_ns, end_ns;
};

/* A zeroed one is empty. */
struct dftracer_marks {
	struct map numbers;              /* of epochs that args name, and ... */
	VEC(struct dftracer_span) spans; /* ... from the first event to the last of each */
	bool has_epochs;                 /* that are events of their own */
	/* The first number met is 1: that application counts from 1. */
	struct dftracer_count {
		bool is_begun;
		uint64_t first;
	} epochs, steps;
	uint64_t left; /* events that stand for no marker */
};

/* By the last part of an event's name: that of DLIO is DLIOBenchmark._train. Loaders' and readers'
 * own events (fetch, preprocess, ...) are no markers. */
static const struct mark {
	const char *name;
	uint16_t op;
	const char *text; /* of a stage or a checkpoint */
} marks[] = {
	{ "epoch", TRACE_EPOCH, NULL },
	{ "step", TRACE_STEP, NULL },
	{ "compute", TRACE_COMPUTE, NULL },
	{ "_train", TRACE_STAGE, "train" },
	{ "train", TRACE_STAGE, "train" },
	{ "_eval", TRACE_STAGE, "eval" },
	{ "eval", TRACE_STAGE, "eval" },
	{ "evaluate", TRACE_STAGE, "eval" },
	{ "test", TRACE_STAGE, "eval" },
	{ "block", TRACE_STAGE, "block" },
	{ "checkpoint", TRACE_CHECKPOINT, "save" },
	{ "save_checkpoint", TRACE_CHECKPOINT, "save" },
	{ "load_checkpoint", TRACE_CHECKPOINT, "restore" },
	{ "restart", TRACE_CHECKPOINT, "restore" },
};

/* Beyond it, it is no number of an epoch. */
#define EPOCH_MOST 1000000

static const struct mark *mark_of(const struct dftracer_event *e)
{
	const char *point = strrchr(e->name, '.');
	const char *name = point ? point + 1 : e->name;

	/* There it is the optimizer's. */
	if (strcasecmp(e->cat, "compute") == 0 && strcmp(name, "step") == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strcmp(marks[i].name, name) == 0)
			return &marks[i];
	return NULL;
}

static bool whole_in(const json_t *args, const char *key, uint64_t most, uint64_t *out)
{
	int64_t v;

	if (!args || !json_whole(json_object_get(args, key), &v) || v < 0 || (uint64_t)v > most)
		return false;
	*out = (uint64_t)v;
	return true;
}

/* A trace counts from 0; an application may from 1. */
static uint64_t from_0(struct dftracer_count *c, uint64_t number)
{
	if (!c->is_begun)
		c->first = number == 1;
	c->is_begun = true;
	return number - u64_min(number, c->first);
}

static void dftracer_marks_widen(struct dftracer_marks *k, const struct dftracer_event *e,
				 uint64_t epoch)
{
	uint64_t end_ns = e->start_ns + e->duration_ns;
	bool is_new;
	uint32_t number = map_number(&k->numbers, epoch, &is_new);
	struct dftracer_span *s;

	if (is_new)
		vec_push(&k->spans, (struct dftracer_span){ epoch, e->start_ns, end_ns });
	s = &k->spans.at[number];
	s->start_ns = u64_min(s->start_ns, e->start_ns);
	s->end_ns = u64_max(s->end_ns, end_ns);
}

static struct trace_record marker(const struct importing *m, uint16_t op, uint64_t start_ns,
				  uint64_t duration_ns)
{
	uint64_t clock = m->clock_offset_ns;

	return (struct trace_record){
		.start_ns = start_ns > clock ? start_ns - clock : 0,
		.duration_ns = duration_ns,
		.off = TRACE_UNKNOWN,
		.len_bytes = TRACE_UNKNOWN,
		.result = -1,
		.cpu_ns = TRACE_UNKNOWN,
		.op = op,
	};
}

static int add_mark(struct dftracer_marks *k, struct importing *m, const struct dftracer_event *e,
		    const struct mark *mark, struct mlgen_err *err)
{
	struct trace_record r = marker(m, mark->op, e->start_ns, e->duration_ns);
	uint64_t n;

	r.pid = e->pid;
	r.tid = e->tid;
	if (mark->text)
		r.file = trace_fill_name(m->fill, mark->text, strlen(mark->text));
	if (mark->op == TRACE_EPOCH) {
		k->has_epochs = true;
		if (whole_in(e->args, "epoch", EPOCH_MOST, &n))
			r.off = from_0(&k->epochs, n);
	} else if (mark->op == TRACE_STEP || mark->op == TRACE_COMPUTE) {
		if (whole_in(e->args, "step", INT64_MAX, &n))
			r.off = from_0(&k->steps, n);
	}
	return trace_fill_add(m->fill, &r, err);
}

/* 0 or -errno with err. */
static int dftracer_marks_take(struct dftracer_marks *k, struct importing *m,
			       const struct dftracer_event *e, struct mlgen_err *err)
{
	const struct mark *mark = mark_of(e);
	uint64_t epoch;

	if (whole_in(e->args, "epoch", EPOCH_MOST, &epoch))
		dftracer_marks_widen(k, e, from_0(&k->epochs, epoch));
	if (mark)
		return add_mark(k, m, e, mark, err);
	k->left++;
	return 0;
}

/* Epochs that follow from the others. */
static int dftracer_marks_end(struct dftracer_marks *k, struct importing *m, struct mlgen_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < k->numbers.count; i++) {
		const struct dftracer_span *s = &k->spans.at[i];
		struct trace_record r =
			marker(m, TRACE_EPOCH, s->start_ns, s->end_ns - s->start_ns);

		if (k->has_epochs)
			break;
		r.off = s->number;
		rc = trace_fill_add(m->fill, &r, err);
	}
	if (!k->has_epochs && k->numbers.count)
		import_note(m, "an epoch is from the first event to the last that has its number, "
			       "since none of them is the epoch itself");
	if (k->left)
		import_note(
			m,
			"%" PRIu64
			" event%s of the application, for which a trace has no marker, %s left out",
			k->left, plural(k->left), k->left == 1 ? "is" : "are");
	return rc;
}

/* ---- the log ---- */

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
	struct dftracer_names names;
	struct dftracer_marks marks;
	/* Files that a process opens, reads or writes by POSIX: those of STDIO are above them, and
	 * the same I/O again. */
	struct map posix;
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
	return has_text(hash) ? dftracer_names_file(&d->names, hash) : 0;
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
			map_number(&d->posix, key, &is_new);
		return true;
	}
	if (map_find(&d->posix, key, &number)) {
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
		dftracer_names_explain(&d->names, value, name);
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
	uint64_t nameless = d->names.unexplained;

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
	d.names.fill = m->fill;
	d.names.hashes = trace_names_new();
	for (size_t i = 0; rc == 0 && i < m->file_count; i++)
		rc = dftracer_file(&d, m->files[i]);
	if (rc == 0)
		rc = import_judge(m, "dftracer", err);
	if (rc == 0)
		rc = dftracer_marks_end(&d.marks, m, err);
	if (rc == 0)
		dftracer_tell(&d);
	map_fini(&d.posix);
	map_fini(&d.marks.numbers);
	vec_fini(&d.marks.spans);
	trace_names_free(d.names.hashes);
	vec_fini(&d.names.files);
	calls_free(d.calls);
	json_objects_fini(&d.objects);
	return rc;
}
