/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - read a trace for a comparison: what it says of itself, then its records in order of
 * time. */
#include "tracing/score/profile.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/describe/opkind.h"
#include "tracing/score/codefolders.h"
#include "tracing/score/mappings.h"
#include "tracing/score/profile_books.h"
#include "tracing/score/scope.h"
#include "tracing/score/storage.h"
#include "trace/trace.h"

/* A second at first; more than so many become fewer, longer ones. */
#define SERIES_MOST 65536
/* Times of one phase that are told apart, to add up how long it was. */
#define TIMES_MOST 1024

/* One time that a phase holds. */
struct phase_time {
	uint64_t start_ns, end_ns;
};

struct phase_times {
	struct phase_time *at;
	size_t count;
};

struct profiler {
	struct profile *to;
	struct trace_ordered *records;
	struct profile_books books;
	struct trace_phases held;
	struct phase_times times[PROFILE_PHASES];
	struct inflight flight;
	bool whole;
	uint64_t epoch; /* the last that was marked */
	/* Of the phase that was asked for last, which is mostly the next, too. */
	size_t named;
	uint32_t named_file;
	uint16_t named_op; /* 0 = none yet */
	/* Where the last call was, and until when that holds. */
	size_t last;
	uint64_t last_until_ns, first_ns, end_ns;
	/* Is a file in scope, and on which mount? By id. */
	unsigned char *scope;
	struct mappings mappings;
	uint32_t scope_count;
	struct storage storage;
	struct codefolders code;
	char *prints[2]; /* files that are standard output or error; owned */
};

enum {
	NOT_ASKED,
	OUT_OF_SCOPE,
	IN_SCOPE, /* and so on: on the mount of this number behind it */
};
_Static_assert(IN_SCOPE + STORAGE_MOUNTS <= UCHAR_MAX, "a byte each");

#define NO_PHASE SIZE_MAX

/* ---- what the trace says of itself ---- */

static void note_fact(const char *text, const char *key, char **to)
{
	size_t length = strlen(key);

	if (strncmp(text, key, length) == 0)
		mem_replace(to, text + length);
}

static void note_entry(struct profiler *f, const struct trace_entry *e)
{
	if (e->kind == TRACE_FACT) {
		note_fact(e->text, "host=", &f->to->host);
		note_fact(e->text, "stdout=", &f->prints[0]);
		note_fact(e->text, "stderr=", &f->prints[1]);
	}
	if (e->kind == TRACE_MOUNT)
		storage_add(&f->storage, e->text);
}

static int read_entries(struct profiler *f, struct trace_reader *r, struct mlgen_err *err)
{
	struct trace_batch batch;
	int rc;

	while ((rc = trace_reader_next(r, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.entry_count; i++)
			note_entry(f, &batch.entries[i]);
		f->to->records += batch.record_count;
	}
	f->to->read = *trace_reader_read(r);
	return rc;
}

/* ---- phases ---- */

static const char *phase_name(const struct profiler *f, const struct trace_phase *now)
{
	size_t bytes;
	const char *name = "";

	if (f->whole)
		return "all";
	if (!now)
		return PROFILE_BETWEEN;
	if (now->op == TRACE_EPOCH)
		return "epoch";
	if (now->file)
		name = trace_ordered_name(f->records, now->file, &bytes);
	return *name ? name : "stage";
}

static size_t find_phase(struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strncmp(p->phases[i].name, name, PROFILE_NAME_BYTES - 1))
			return i;
	if (p->count == PROFILE_PHASES)
		return PROFILE_PHASES - 1;
	strncpy(p->phases[p->count].name, name, PROFILE_NAME_BYTES - 1);
	return p->count++;
}

/* When it holds: several records say so, and what is known of the end grows. */
static void note_time(struct profiler *f, size_t n, const struct trace_phase *now)
{
	struct phase_times *t = &f->times[n];

	if (!t->at)
		t->at = mem_array(TIMES_MOST, sizeof(*t->at));
	for (size_t i = t->count; i-- > 0;)
		if (t->at[i].start_ns == now->start_ns) {
			t->at[i].end_ns = now->end_ns;
			return;
		}
	if (t->count == TIMES_MOST) {
		/* As if it had gone on. */
		t->at[TIMES_MOST - 1].end_ns = now->end_ns;
		return;
	}
	t->at[t->count++] = (struct phase_time){ now->start_ns, now->end_ns };
}

static size_t phase_of(struct profiler *f, const struct trace_record *r)
{
	const struct trace_phase *now = trace_phase_at(&f->held, r);

	if (f->whole || !now)
		return find_phase(f->to, phase_name(f, now));
	if (f->named_op != now->op || f->named_file != now->file) {
		f->named = find_phase(f->to, phase_name(f, now));
		f->named_op = now->op;
		f->named_file = now->file;
	}
	note_time(f, f->named, now);
	return f->named;
}

/* ---- records ---- */

static bool prints_to(const struct profiler *f, const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(f->prints); i++)
		if (f->prints[i] && strcmp(f->prints[i], path) == 0)
			return true;
	return false;
}

static bool in_scope(struct profiler *f, const struct trace_record *r)
{
	uint32_t id = r->file;
	const char *name;
	size_t bytes;

	if (!id || id > f->scope_count)
		return false;
	if (f->scope[id] == NOT_ASKED) {
		name = trace_ordered_name(f->records, id, &bytes);
		f->scope[id] = OUT_OF_SCOPE;
		if (scope_has(name) && !prints_to(f, name) && !codefolders_has(&f->code, name) &&
		    !scope_is_probe(name, r))
			f->scope[id] = (unsigned char)(IN_SCOPE + storage_of(&f->storage, name));
	}
	return f->scope[id] >= IN_SCOPE;
}

static void make_longer(struct profile_phase *p)
{
	for (size_t i = 0; i < SERIES_MOST / 2; i++)
		p->series[i] = p->series[2 * i] + p->series[2 * i + 1];
	memset(p->series + SERIES_MOST / 2, 0, SERIES_MOST / 2 * sizeof(*p->series));
	p->series_count = SERIES_MOST / 2;
	p->series_step_ns *= 2;
}

static void add_to_series(struct profile_phase *p, const struct trace_record *r, uint64_t bytes)
{
	uint64_t i;

	if (!p->series) {
		p->series = mem_array(SERIES_MOST, sizeof(*p->series));
		p->series_start_ns = r->start_ns;
		p->series_step_ns = NS_PER_S;
	}
	while ((i = (r->start_ns - p->series_start_ns) / p->series_step_ns) >= SERIES_MOST)
		make_longer(p);
	p->series[i] += (double)bytes;
	if (i >= p->series_count)
		p->series_count = i + 1;
}

static struct inflight_seen *seen_of(const struct profiler *f)
{
	return f->last == NO_PHASE ? NULL : &f->to->phases[f->last].inflight;
}

static void add_call(struct profiler *f, const struct trace_record *r)
{
	struct profile_phase *p;
	size_t n;

	if (opkind_failed(r)) {
		f->to->failed_calls++;
		return;
	}
	if (!in_scope(f, r)) {
		f->to->other_calls++;
		return;
	}
	if (mappings_note(&f->mappings, r))
		return;
	n = phase_of(f, r);
	p = &f->to->phases[n];
	inflight_go(&f->flight, r->start_ns, f->last_until_ns, seen_of(f));
	if (opkind_has_duration(r))
		inflight_begin(&f->flight, opkind_end_ns(r));
	f->last = f->held.now || f->whole ? n : NO_PHASE;
	f->last_until_ns = f->held.now && !f->whole ? f->held.now->end_ns : UINT64_MAX;
	f->first_ns = u64_min(f->first_ns, r->start_ns);
	f->end_ns = u64_max(f->end_ns, opkind_end_ns(r));
	books_call(&f->books, p, n, r);
	if (opkind_bytes(r)) {
		add_to_series(p, r, opkind_bytes(r));
		storage_moved(&f->storage, f->scope[r->file] - IN_SCOPE, opkind_bytes(r));
	}
}

/* A page of a mapping that is touched: as if it were read. */
static void add_touch(struct profiler *f, const struct trace_record *r)
{
	struct trace_record read;

	if (in_scope(f, r) && mappings_read(&f->mappings, r, &read))
		add_call(f, &read);
}

static void add_marker(struct profiler *f, const struct trace_record *r)
{
	size_t n = phase_of(f, r);
	struct profile_phase *p = &f->to->phases[n];

	if (r->op == TRACE_SAMPLE)
		books_sample(&f->books, p, n, r);
	else if (opkind_has_duration(r) && !(r->flags & TRACE_BEGINS))
		spread_add(&p->steps, r->duration_ns, 1);
}

static void add_event(struct profiler *f, const struct trace_record *r)
{
	struct profile_phase *p;

	if (r->op == TRACE_STEP || r->op == TRACE_SAMPLE) {
		add_marker(f, r);
		return;
	}
	p = &f->to->phases[phase_of(f, r)];
	/* Those of several ranks stand together. */
	if (r->op == TRACE_EPOCH && (!f->to->epochs || f->epoch != r->off)) {
		f->epoch = r->off;
		f->to->epochs++;
	}
	if (r->op == TRACE_CACHE_ADD && in_scope(f, r)) {
		p->has_cache = true;
		p->cache_bytes += opkind_bytes(r);
	}
	if (r->op == TRACE_BLOCK_ISSUE && r->len_bytes != TRACE_UNKNOWN)
		spread_add(&p->block_sizes, r->len_bytes, 1);
}

static void add_record(struct profiler *f, const struct trace_record *r)
{
	if (!trace_op_name(r->op) || !opkind_has_time(r))
		return;
	if (r->op == TRACE_FAULT)
		add_touch(f, r);
	else if (opkind_of(r->op) & OPKIND_CALL)
		add_call(f, r);
	else
		add_event(f, r);
}

/* ---- the end ---- */

static uint64_t time_of(const struct profiler *f, size_t n)
{
	const struct phase_times *t = &f->times[n];
	uint64_t ns = 0;

	if (!t->count)
		/* What lies between phases has no time of its own. */
		return f->whole && f->end_ns > f->first_ns ? f->end_ns - f->first_ns : 0;
	for (size_t i = 0; i < t->count; i++) {
		uint64_t end = u64_min(t->at[i].end_ns, f->end_ns);

		if (end > t->at[i].start_ns)
			ns += end - t->at[i].start_ns;
	}
	return ns;
}

static void find_code(struct profiler *f)
{
	size_t bytes;

	for (uint32_t id = 1; id <= f->scope_count; id++)
		codefolders_add(&f->code, trace_ordered_name(f->records, id, &bytes));
}

static int read_records(struct profiler *f, struct mlgen_err *err)
{
	const struct trace_record *r;
	int rc;

	f->scope_count = trace_ordered_names(f->records);
	f->scope = mem_array((size_t)f->scope_count + 1, 1);
	find_code(f);
	while ((rc = trace_ordered_next(f->records, &r, err)) > 0)
		add_record(f, r);
	if (rc < 0)
		return rc;
	inflight_go(&f->flight, f->end_ns, f->last_until_ns, seen_of(f));
	books_finish(&f->books, f->to);
	for (size_t i = 0; i < f->to->count; i++)
		f->to->phases[i].duration_ns = time_of(f, i);
	return 0;
}

static int read_twice(struct profiler *f, struct trace_reader *r, struct mlgen_err *err)
{
	int rc = read_entries(f, r, err);

	if (rc == 0)
		rc = trace_reader_rewind(r, err);
	if (rc == 0)
		rc = trace_ordered_read(&f->records, r, err);
	if (rc == 0)
		rc = read_records(f, err);
	f->to->storage = storage_text(&f->storage);
	return rc;
}

static int profile_records(struct profile *to, struct trace_reader *r, bool whole,
			   struct mlgen_err *err)
{
	struct profiler *f = mem_zalloc(sizeof(*f));
	int rc;

	f->to = to;
	f->whole = whole;
	f->last = NO_PHASE;
	f->first_ns = UINT64_MAX;
	books_init(&f->books);
	to->phases = mem_array(PROFILE_PHASES, sizeof(*to->phases));
	rc = read_twice(f, r, err);
	storage_fini(&f->storage);
	codefolders_fini(&f->code);
	mappings_fini(&f->mappings);
	mem_free(f->prints[0]);
	mem_free(f->prints[1]);
	books_fini(&f->books);
	inflight_fini(&f->flight);
	for (size_t i = 0; i < PROFILE_PHASES; i++)
		mem_free(f->times[i].at);
	mem_free(f->scope);
	trace_ordered_free(f->records);
	mem_free(f);
	return rc;
}

int profile_trace(struct profile *to, const char *path, bool whole, struct mlgen_err *err)
{
	const char *const paths[] = { path };
	struct trace_reader *r;
	int rc = trace_reader_open(&r, paths, 1, err);

	*to = (struct profile){ 0 };
	if (rc < 0)
		return rc;
	rc = profile_records(to, r, whole, err);
	trace_reader_close(r);
	return rc;
}

void profile_fini(struct profile *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct profile_phase *o = &p->phases[i];
		struct spread *const spreads[] = {
			&o->read_sizes,   &o->write_sizes,    &o->file_sizes, &o->seeks,
			&o->file_samples, &o->reuse,          &o->think,      &o->steps,
			&o->block_sizes,  &o->inflight.depth,
		};

		for (size_t k = 0; k < ARRAY_LEN(spreads); k++)
			spread_fini(spreads[k]);
		mem_free(o->series);
	}
	mem_free(p->phases);
	mem_free(p->host);
	mem_free(p->storage);
	*p = (struct profile){ 0 };
}

const struct profile_phase *profile_find(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->phases[i].calls && !strcmp(p->phases[i].name, name))
			return &p->phases[i];
	return NULL;
}
