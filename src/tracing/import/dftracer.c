/* SPDX-License-Identifier: Apache-2.0 */
/* dftracer.c - --format=dftracer: file calls and training events of DFTracer or DLIO Profiler. */

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

/* ---- file names, which events refer to by hash ---- */

struct dftracer_file {
	uint32_t file;
	bool is_explained;
};

/* An event FH maps a hash to a name. FH mostly precedes the first use of the hash, but may stand
 * anywhere in a sorted file. Until FH is read, the file is named "hash H". */
struct dftracer_names {
	struct trace_names *hashes;      /* numbers hashes from 1 */
	VEC(struct dftracer_file) files; /* index: number minus one */
	uint64_t unexplained;            /* hashes without an FH so far */
};

static struct dftracer_file *dftracer_names_find(struct dftracer_names *n, const char *hash,
						 bool *is_new)
{
	uint32_t id = trace_names_id(n->hashes, hash, strlen(hash), is_new);

	while (n->files.count < id)
		vec_push(&n->files, (struct dftracer_file){ 0 });
	return &n->files.at[id - 1];
}

/* ---- markers: events of the application, such as epochs and steps of DLIO ---- */

/* A complete event. */
struct dftracer_event {
	const char *name, *cat;
	uint32_t pid, tid;
	uint64_t start_ns, duration_ns;
	const json_t *args; /* NULL = none */
};

struct dftracer_span {
	uint64_t number, start_ns, end_ns;
};

/* Zeroed = empty. */
struct dftracer_marks {
	struct map numbers;              /* epochs that occur in args */
	VEC(struct dftracer_span) spans; /* time from the first to the last event of each */
	bool has_epochs;                 /* the log has an event for each epoch */
	/* `first` is 1 if the first number in the log is 1: the application counts from 1. */
	struct dftracer_count {
		bool is_begun;
		uint64_t first;
	} epochs, steps;
	uint64_t left_out; /* events without a corresponding marker */
};

/* Markers by the last component of an event's name, such as DLIOBenchmark._train of DLIO. Events of
 * data loaders (fetch, preprocess, ...) are not markers. */
static const struct dftracer_marker {
	const char *name;
	uint16_t op;
	const char *text; /* name of a stage or a checkpoint */
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

/* A greater value is not an epoch's number. */
#define EPOCH_MAX 1000000

static const struct dftracer_marker *mark_of(const struct dftracer_event *e)
{
	const char *point = strrchr(e->name, '.');
	const char *name = point ? point + 1 : e->name;

	/* This is a step of the optimizer. */
	if (strcasecmp(e->cat, "compute") == 0 && strcmp(name, "step") == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strcmp(marks[i].name, name) == 0)
			return &marks[i];
	return NULL;
}

static bool number_arg(const json_t *args, const char *key, uint64_t most, uint64_t *out)
{
	int64_t v;

	if (!args || !json_whole(json_object_get(args, key), &v) || v < 0 || (uint64_t)v > most)
		return false;
	*out = (uint64_t)v;
	return true;
}

/* Numbers in a trace start at 0; an application may count from 1. */
static uint64_t number_from_0(struct dftracer_count *c, uint64_t number)
{
	if (!c->is_begun)
		c->first = number == 1;
	c->is_begun = true;
	return number - u64_min(number, c->first);
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

/* 0 or -errno with err. */
static int dftracer_marks_add(struct dftracer_marks *k, struct importing *m,
			      const struct dftracer_event *e, struct mlgen_err *err)
{
	const struct dftracer_marker *mark = mark_of(e);
	uint64_t end_ns = e->start_ns + e->duration_ns;
	struct dftracer_span *s;
	struct trace_record r;
	uint32_t number;
	uint64_t n;
	bool is_new;

	if (number_arg(e->args, "epoch", EPOCH_MAX, &n)) {
		n = number_from_0(&k->epochs, n);
		number = map_number(&k->numbers, n, &is_new);
		if (is_new)
			vec_push(&k->spans, (struct dftracer_span){ n, e->start_ns, end_ns });
		s = &k->spans.at[number];
		s->start_ns = u64_min(s->start_ns, e->start_ns);
		s->end_ns = u64_max(s->end_ns, end_ns);
	}
	if (!mark) {
		k->left_out++;
		return 0;
	}
	r = marker(m, mark->op, e->start_ns, e->duration_ns);
	r.pid = e->pid;
	r.tid = e->tid;
	if (mark->text)
		r.file = trace_fill_name(m->fill, mark->text, strlen(mark->text));
	if (mark->op == TRACE_EPOCH) {
		k->has_epochs = true;
		if (number_arg(e->args, "epoch", EPOCH_MAX, &n))
			r.off = number_from_0(&k->epochs, n);
	} else if (mark->op == TRACE_STEP || mark->op == TRACE_COMPUTE) {
		if (number_arg(e->args, "step", INT64_MAX, &n))
			r.off = number_from_0(&k->steps, n);
	}
	return trace_fill_add(m->fill, &r, err);
}

/* Add epochs inferred from the numbers of other events. */
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
		import_note(m, "epochs are derived from the first and last event with each epoch "
			       "number, because no event marks an epoch");
	if (k->left_out)
		import_note(
			m,
			"%" PRIu64
			" event%s of the application without a corresponding marker %s left out",
			k->left_out, plural(k->left_out), k->left_out == 1 ? "is" : "are");
	return rc;
}

/* ---- the reader ---- */

/* The time units of a log (DFTracer's TimeMetric). */
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
	/* Files that a process opened, read or wrote by POSIX calls. STDIO calls of the same
	 * process on these files repeat the same I/O. */
	struct map posix;
	uint64_t unit_ns;         /* time unit of this file */
	uint64_t timed;           /* events of this file read in that unit */
	uint64_t repeated, stdio; /* calls of STDIO, left out and added */
	uint64_t without_errno;   /* failed calls without errno */
	uint64_t other_events;    /* neither complete events nor names */
};

/* ---- members ---- */

static const char *text_in(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool number_in(const json_t *args, const char *const *names, int64_t *out)
{
	return json_whole(json_member(args, names), out);
}

static uint64_t size_in(const json_t *args, const char *const *names)
{
	int64_t v;

	return number_in(args, names, &v) && v >= 0 ? (uint64_t)v : TRACE_UNKNOWN;
}

/* Old versions have thread ids of 64 bits. */
static uint32_t task_of(const json_t *value)
{
	int64_t v = 0;

	if (!json_whole(value, &v))
		return 0;
	return (uint32_t)((uint64_t)v ^ (uint64_t)v >> 32);
}

/* A hash as text; old versions have numbers. */
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

/* The file named in the clear or by a hash; 0 = none. */
static uint32_t file_in(struct dftracer *d, const json_t *args, const char *const *clear,
			const char *const *hashed)
{
	const char *name = json_string_value(json_member(args, clear));
	struct dftracer_file *h;
	struct buf text = { 0 };
	char room[24];
	const char *hash;
	bool is_new;

	if (has_text(name))
		return trace_fill_name(d->m->fill, name, strlen(name));
	hash = hash_text(json_member(args, hashed), room, sizeof(room));
	if (!has_text(hash))
		return 0;
	h = dftracer_names_find(&d->names, hash, &is_new);
	if (is_new) {
		buf_addf(&text, "hash %s", hash);
		h->file = trace_fill_name(d->m->fill, text.s, text.len);
		d->names.unexplained++;
		buf_fini(&text);
	}
	return h->file;
}

/* ---- calls ---- */

/* Convert the items of fread and fwrite to bytes. */
static void set_item_bytes(const json_t *args, struct call_event *s)
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

static int add_call(struct dftracer *d, const struct dftracer_event *e)
{
	const struct call *k = call_find(e->name);
	const json_t *args = e->args;
	struct call_event s = {
		.pid = e->pid,
		.tid = e->tid,
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns,
	};
	int64_t code, off;
	uint32_t number;
	uint64_t key;
	bool is_new;

	if (!k) {
		import_count_unknown(d->m, e->name);
		return 0;
	}
	s.has_result = number_in(args, ANY_OF("ret", "result"), &s.result);
	if (s.has_result && s.result == -1) {
		bool has_errno = number_in(args, ANY_OF("errno"), &code) && code > 0;

		s.result = has_errno ? -code : -EIO;
		d->without_errno += !has_errno;
	}
	s.bytes = size_in(args, ANY_OF("count", "nbyte", "size", "length", "len", "size_sum"));
	if (k->is_stdio && k->kind == CALL_TRANSFER)
		set_item_bytes(args, &s);
	else if (k->is_stdio)
		s.has_result = false; /* a pointer or a status */
	if (!number_in(args, ANY_OF("fd"), &s.fd))
		s.fd = -1;
	if (!number_in(args, ANY_OF("whence"), &s.whence))
		s.whence = -1;
	s.off = number_in(args, ANY_OF("offset", "off"), &off) && (off >= 0 || k->kind == CALL_SEEK)
			? (uint64_t)off
			: TRACE_UNKNOWN;
	s.flags = size_in(args, ANY_OF("flags"));
	s.file = file_in(d, args, ANY_OF("fname", "filename", "pathname", "path", "oldpath"),
			 ANY_OF("fhash", "oldpath_hash"));
	if (k->kind == CALL_RENAME)
		s.becomes = file_in(d, args, ANY_OF("newpath", "newname"), ANY_OF("newpath_hash"));
	/* STDIO calls on a file with POSIX calls repeat those. */
	key = (uint64_t)s.pid << 32 | s.file;
	if (k->kind != CALL_IGNORED && s.file && k->is_stdio) {
		if (map_find(&d->posix, key, &number)) {
			d->repeated++;
			return 0;
		}
		d->stdio++;
	} else if (s.file && (k->kind == CALL_OPEN || k->kind == CALL_TRANSFER)) {
		map_number(&d->posix, key, &is_new);
	}
	return calls_add(d->calls, k, &s, d->err);
}

/* ---- events ---- */

/*
 * Set the unit of the times that follow. A file declares it once, among its first events. A file
 * with a later declaration is refused, since times read in another unit cannot be corrected.
 */
static int set_unit(struct dftracer *d, const char *value)
{
	const struct time_metric *t = time_metrics;

	while (t < time_metrics + ARRAY_LEN(time_metrics) && strcasecmp(t->name, value) != 0)
		t++;
	if (t == time_metrics + ARRAY_LEN(time_metrics))
		return trace_input_fail(&d->objects.in, d->objects.line, d->err,
					"time_metric '%.40s' is not a known unit of time; the "
					"units are NS, US, MS and SEC",
					value);
	if (d->timed && t->ns != d->unit_ns)
		return trace_input_fail(&d->objects.in, d->objects.line, d->err,
					"time_metric %s comes after %" PRIu64
					" event%s with times in another unit; move the event CM to "
					"the beginning of the file",
					t->name, d->timed, plural(d->timed));
	d->unit_ns = t->ns;
	return 0;
}

/* Read an event of kind M: how the log was made, or FH, the name of a hash. */
static int read_metadata(struct dftracer *d, const json_t *event)
{
	const json_t *args = json_object_get(event, "args");
	const char *key = text_in(event, "name");
	const char *name = text_in(args, "name");
	char room[24];
	const char *value =
		hash_text(json_member(args, ANY_OF("value", "hash")), room, sizeof(room));
	struct dftracer_file *h;
	uint64_t id;
	bool is_new;

	if (!key || !has_text(name) || !has_text(value))
		return 0;
	if (strcmp(key, "CM") == 0 && strcmp(name, "time_metric") == 0)
		return set_unit(d, value);
	if (strcmp(key, "FH") != 0)
		return 0;
	h = dftracer_names_find(&d->names, value, &is_new);
	if (is_new) {
		h->file = trace_fill_name(d->m->fill, name, strlen(name));
	} else if (!h->is_explained) {
		/* The last entry of an id applies. */
		id = h->file;
		trace_fill_entry(d->m->fill, TRACE_FILE, &id, 1, name);
		d->names.unexplained--;
	}
	h->is_explained = true;
	return 0;
}

static int add_complete(struct dftracer *d, const json_t *event)
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
		return json_objects_unread(&d->objects, "an event without name or cat");
	if (!json_time(json_object_get(event, "ts"), d->unit_ns, &e.start_ns))
		return json_objects_unread(&d->objects,
					   "an event without ts, its start time in microseconds or "
					   "in the log's time_metric");
	if (dur && !json_time(dur, d->unit_ns, &e.duration_ns))
		return json_objects_unread(
			&d->objects,
			"dur is not a number of microseconds, or of the log's time_metric");
	d->timed++;
	if (strcasecmp(e.cat, "POSIX") == 0 || strcasecmp(e.cat, "STDIO") == 0)
		return add_call(d, &e);
	/* The start and end of the tracer itself. */
	if (strcasecmp(e.cat, "dftracer") == 0 || strcasecmp(e.cat, "dlio_profiler") == 0)
		return 0;
	return dftracer_marks_add(&d->marks, d->m, &e, d->err);
}

static int add_event(void *arg, const json_t *event)
{
	/* Recent versions of DFTracer write a number (enum EventType) instead of the letter of the
	 * Chrome trace format. */
	static const char by_number[] = { 0, 'X', 'C', 'A', 'M' };
	struct dftracer *d = arg;
	const json_t *ph = json_object_get(event, "ph");
	const char *letter = json_string_value(ph);
	char kind = letter ? *letter : 0;
	int64_t number;

	if (json_whole(ph, &number))
		kind = number > 0 && number < (int64_t)ARRAY_LEN(by_number) ? by_number[number] : 0;
	switch (kind) {
	case 0:
		return json_objects_unread(
			&d->objects,
			"an event without ph, its kind: X or 1 = complete event, M or 4 = name");
	case 'X':
		return add_complete(d, event);
	case 'M':
		return read_metadata(d, event);
	default:
		d->other_events++;
		return 0;
	}
}

static void add_notes(struct dftracer *d)
{
	uint64_t nameless = d->names.unexplained;

	if (d->stdio)
		import_note(d->m,
			    "%" PRIu64
			    " call%s of STDIO %s imported, for files without POSIX calls in the "
			    "same process; sizes are those of fread and fwrite, not of read(2)",
			    d->stdio, plural(d->stdio), d->stdio == 1 ? "is" : "are");
	if (d->repeated)
		import_note(
			d->m,
			"%" PRIu64
			" call%s of STDIO %s left out, because the log contains their POSIX calls",
			d->repeated, plural(d->repeated), d->repeated == 1 ? "is" : "are");
	if (d->without_errno)
		import_note(d->m,
			    "%" PRIu64 " call%s failed, but the log does not contain the error; "
			    "the trace contains EIO",
			    d->without_errno, plural(d->without_errno));
	if (nameless)
		import_note(d->m,
			    "%" PRIu64 " file%s without a name, because no event FH explains the "
			    "hash; is a file of the log missing?",
			    nameless, plural(nameless));
	if (d->other_events)
		import_note(d->m,
			    "%" PRIu64
			    " event%s left out: neither complete (ph X or 1) nor a name (M or 4)",
			    d->other_events, plural(d->other_events));
	calls_add_notes(d->calls);
}

int import_dftracer(struct importing *m, struct mlgen_err *err)
{
	struct dftracer d = { .m = m, .err = err };
	int rc = 0;

	d.objects.m = m;
	d.objects.err = err;
	d.calls = calls_new(m, false);
	d.names.hashes = trace_names_new();
	for (size_t i = 0; rc == 0 && i < m->file_count; i++) {
		d.unit_ns = NS_PER_US;
		d.timed = 0;
		rc = json_objects_read(&d.objects, m->files[i], add_event, &d);
	}
	if (rc == 0)
		rc = import_check_unread(m, "dftracer", err);
	if (rc == 0)
		rc = dftracer_marks_end(&d.marks, m, err);
	if (rc == 0)
		add_notes(&d);
	map_fini(&d.posix);
	map_fini(&d.marks.numbers);
	vec_fini(&d.marks.spans);
	trace_names_free(d.names.hashes);
	vec_fini(&d.names.files);
	calls_free(d.calls);
	json_objects_fini(&d.objects);
	return rc;
}
