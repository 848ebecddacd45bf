/* SPDX-License-Identifier: Apache-2.0 */
/* filebook.c - an account of each file of a trace, and of each directory. */
#include "tracing/describe/filebook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tracing/describe/opkind.h"

#define PAGE_BYTES 4096

void filebook_init(struct filebook *b, struct trace_names *names)
{
	*b = (struct filebook){ .names = names,
				.follow = follow_new(),
				.faults_follow = follow_new() };
}

void filebook_fini(struct filebook *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		mem_free(filebook_at(b, i)->faulted);
	follow_free(b->follow);
	follow_free(b->faults_follow);
	touched_pool_fini(&b->pool);
	spill_free(&b->files);
	memset(b, 0, sizeof(*b));
}

struct file_account *filebook_at(const struct filebook *b, uint32_t id)
{
	return id < b->count ? (struct file_account *)b->files.at + id : NULL;
}

static struct file_account *filebook_have(struct filebook *b, uint32_t id)
{
	size_t bytes = ((size_t)id + 1) * sizeof(struct file_account);

	if (bytes > b->files.bytes)
		spill_need(&b->files, bytes);
	if (id >= b->count)
		b->count = id + 1;
	return filebook_at(b, id);
}

/* The name up to its last slash. */
static uint32_t directory_of(struct filebook *b, const char *path, size_t bytes)
{
	const char *slash = memrchr(path, '/', bytes);

	if (!slash)
		return trace_names_id(b->names, ".", 1, NULL);
	if (slash == path)
		return trace_names_id(b->names, "/", 1, NULL);
	return trace_names_id(b->names, path, (size_t)(slash - path), NULL);
}

void filebook_name(struct filebook *b, const struct trace_entry *e)
{
	uint64_t id = e->number[0];

	if (id == 0 || id >= UINT32_MAX)
		return;
	struct file_account *f = filebook_have(b, (uint32_t)id);
	/* The later one counts. */
	f->directory = directory_of(b, e->text, e->text_bytes);
	if (!f->size_bytes && e->number[1] != TRACE_UNKNOWN)
		f->size_bytes = e->number[1] + 1;
}

/* ---- pass one ---- */

static void follow_read(struct filebook *b, struct file_account *f, const struct trace_record *r,
			uint64_t end)
{
	enum follow_kind kind = follow_next(b->follow, r->file, r->tid, r->off, end);

	b->accesses[kind]++;
	f->followed += kind != FOLLOW_FIRST;
	f->sequential += kind == FOLLOW_SEQUENTIAL;
}

static void add_read(struct filebook *b, struct file_account *f, const struct trace_record *r)
{
	uint64_t bytes = opkind_bytes(r);

	f->reads++;
	f->read_bytes += bytes;
	if (r->off == TRACE_UNKNOWN || r->off > INT64_MAX) {
		b->unknown_offsets++;
		return;
	}
	/* One that found the end of the file says nothing of order. */
	if (!bytes)
		return;
	follow_read(b, f, r, r->off + bytes);
	touched_add(&b->pool, &f->read, r->off, r->off + bytes);
}

static void add_fault(struct filebook *b, struct file_account *f, const struct trace_record *r)
{
	uint64_t bytes = r->len_bytes && r->len_bytes <= INT64_MAX ? r->len_bytes : PAGE_BYTES;

	if (r->off > INT64_MAX)
		return;
	if (!f->faulted)
		f->faulted = mem_zalloc(sizeof(*f->faulted));
	b->faults[follow_next(b->faults_follow, r->file, r->tid, r->off, r->off + bytes)]++;
	touched_add(&b->pool, f->faulted, r->off, r->off + bytes);
}

static void add_call(struct filebook *b, struct file_account *f, const struct trace_record *r,
		     unsigned kind)
{
	if (r->op == TRACE_OPEN || r->op == TRACE_CLOSE)
		follow_forget(b->follow, r->file, r->tid);
	f->opens += r->op == TRACE_OPEN;
	f->metadata += (kind & OPKIND_METADATA) != 0;
	if (kind & OPKIND_READ)
		add_read(b, f, r);
	if (kind & OPKIND_WRITE) {
		f->writes++;
		f->written_bytes += opkind_bytes(r);
	}
}

void filebook_add(struct filebook *b, const struct trace_record *r, unsigned kind)
{
	if (!r->file || opkind_failed(r) || (!(kind & OPKIND_CALL) && r->op != TRACE_FAULT))
		return;
	struct file_account *f = filebook_have(b, r->file);
	if (r->op == TRACE_FAULT)
		add_fault(b, f, r);
	else
		add_call(b, f, r, kind);
}

/* ---- sums ---- */

bool filebook_is_used(const struct file_account *f)
{
	return f->opens || f->metadata || f->reads || f->writes || f->faulted;
}

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

static void sum_access(const struct filebook *b, struct described_access *a)
{
	const uint64_t *n = b->accesses;

	a->followed = n[FOLLOW_SEQUENTIAL] + n[FOLLOW_AHEAD] + n[FOLLOW_BACK];
	double all = (double)a->followed;
	a->sequential_percent = percent_of((double)n[FOLLOW_SEQUENTIAL], all);
	a->ahead_percent = percent_of((double)n[FOLLOW_AHEAD], all);
	a->back_percent = percent_of((double)n[FOLLOW_BACK], all);
	a->unknown_offsets = b->unknown_offsets;
	if (!a->followed)
		a->unknown = b->unknown_offsets ? "the offsets of reads were not recorded"
						: "no thread read twice from one open file";
}

static void sum_mmap(const struct filebook *b, struct described_mmap *m)
{
	const uint64_t *n = b->faults;

	m->ascending_percent =
		percent_of((double)(n[FOLLOW_SEQUENTIAL] + n[FOLLOW_AHEAD]),
			   (double)(n[FOLLOW_SEQUENTIAL] + n[FOLLOW_AHEAD] + n[FOLLOW_BACK]));
	m->pages_is_exact = true;
	m->pages = 0;
}

static void sum_file(const struct filebook *b, const struct file_account *f,
		     struct described_trace *t, uint64_t *placed_bytes)
{
	uint64_t unique = touched_bytes(&b->pool, &f->read);

	t->unique.files++;
	t->unique.read_files += f->reads > 0;
	t->unique.written_files += f->writes > 0;
	t->unique.bytes += unique;
	t->unique.is_exact &= touched_is_exact(&b->pool, &f->read);
	if (unique)
		*placed_bytes += f->read_bytes;
	if (!f->faulted)
		return;
	t->mmap.pages += divide_up(touched_bytes(&b->pool, f->faulted), PAGE_BYTES);
	t->mmap.pages_is_exact &= touched_is_exact(&b->pool, f->faulted);
}

void filebook_sum(const struct filebook *b, struct described_trace *t)
{
	struct described_unique *u = &t->unique;
	uint64_t placed_bytes = 0;

	sum_access(b, &t->access);
	sum_mmap(b, &t->mmap);
	u->is_exact = true;
	for (uint32_t i = 0; i < b->count; i++)
		if (filebook_is_used(filebook_at(b, i)))
			sum_file(b, filebook_at(b, i), t, &placed_bytes);
	u->reread_percent =
		u->bytes && placed_bytes >= u->bytes
			? percent_of((double)(placed_bytes - u->bytes), (double)placed_bytes)
		: u->bytes ? 0
			   : (double)NAN;
	if (u->bytes)
		return;
	u->unknown = b->unknown_offsets ? "the offsets of reads were not recorded"
					: "nothing was read from files that are known";
	u->bytes = b->unknown_offsets ? TRACE_UNKNOWN : 0;
}

/* ---- the largest ---- */

static uint64_t moved_by(const struct file_account *f)
{
	return f->read_bytes + f->written_bytes;
}

/* Before another in the list: more bytes, more calls, then seen earlier. */
static bool is_above(const struct filebook *b, uint32_t id, uint32_t other)
{
	const struct file_account *f = filebook_at(b, id);
	const struct file_account *o = filebook_at(b, other);

	if (moved_by(f) != moved_by(o))
		return moved_by(f) > moved_by(o);
	if (f->metadata != o->metadata)
		return f->metadata > o->metadata;
	return id < other;
}

size_t filebook_top(const struct filebook *b, uint32_t *ids, size_t most)
{
	size_t n = 0;

	for (uint32_t id = 1; id < b->count; id++) {
		size_t i = n;

		if (!filebook_is_used(filebook_at(b, id)) ||
		    (n == most && !is_above(b, id, ids[n - 1])))
			continue;
		if (n == most)
			i = n - 1;
		else
			n++;
		for (; i > 0 && is_above(b, id, ids[i - 1]); i--)
			ids[i] = ids[i - 1];
		ids[i] = id;
	}
	return n;
}

void filebook_describe(const struct filebook *b, uint32_t id, struct described_file *to)
{
	const struct file_account *f = filebook_at(b, id);
	uint64_t unique = touched_bytes(&b->pool, &f->read);

	*to = (struct described_file){
		.size_bytes = f->size_bytes ? f->size_bytes - 1 : TRACE_UNKNOWN,
		.opens = f->opens,
		.reads = f->reads,
		.read_bytes = f->read_bytes,
		.writes = f->writes,
		.written_bytes = f->written_bytes,
		.unique_bytes = f->read_bytes && !unique ? TRACE_UNKNOWN : unique,
		.unique_is_exact = touched_is_exact(&b->pool, &f->read),
		.reread_percent = (double)NAN,
		.sequential_percent = percent_of((double)f->sequential, (double)f->followed),
	};
	if (unique)
		to->reread_percent = fmax(0, percent_of((double)f->read_bytes - (double)unique,
							(double)f->read_bytes));
	if (f->faulted)
		to->pages = divide_up(touched_bytes(&b->pool, f->faulted), PAGE_BYTES);
}

static void sum_directories(const struct filebook *b, struct spill *sums, uint32_t count)
{
	spill_need(sums, ((size_t)count + 1) * sizeof(struct described_directory));
	struct described_directory *all = sums->at;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct file_account *f = filebook_at(b, i);

		if (!filebook_is_used(f) || !f->directory)
			continue;
		struct described_directory *d = &all[f->directory];
		d->files++;
		d->opens += f->opens;
		d->reads += f->reads;
		d->read_bytes += f->read_bytes;
		d->written_bytes += f->written_bytes;
	}
}

static bool is_larger(const struct described_directory *a, const struct described_directory *b)
{
	uint64_t x = a->read_bytes + a->written_bytes;
	uint64_t y = b->read_bytes + b->written_bytes;

	return x != y ? x > y : a->files > b->files;
}

size_t filebook_directories(const struct filebook *b, struct described_directory *to, size_t most)
{
	uint32_t count = trace_names_count(b->names);
	struct spill sums = { 0 };
	size_t n = 0;

	sum_directories(b, &sums, count);
	for (uint32_t id = 1; id <= count; id++) {
		struct described_directory d = ((struct described_directory *)sums.at)[id];
		size_t i = n;

		if (!d.files || (n == most && !is_larger(&d, &to[n - 1])))
			continue;
		d.path = trace_names_text(b->names, id, NULL);
		if (n == most)
			i = n - 1;
		else
			n++;
		for (; i > 0 && is_larger(&d, &to[i - 1]); i--)
			to[i] = to[i - 1];
		to[i] = d;
	}
	spill_free(&sums);
	return n;
}
