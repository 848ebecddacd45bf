/* SPDX-License-Identifier: Apache-2.0 */
/* samplebook.c - an account of each file of samples, and the visits that are compared by call. */
#include "tracing/distil/data/data_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/scan/scan.h"

/* A common divisor of places is chance if it is smaller than STRIDE_LEAST bytes, and the file has
 * more than PIECES_A_VISIT such pieces for each visit. */
enum { STRIDE_LEAST = 64, PIECES_A_VISIT = 4 };

/* Part of the names of label files, including mlgen's own. */
#define LABEL_WORD ".label."

/* Values of sample_file.kind, by class and name. */
enum { KIND_UNKNOWN, KIND_SAMPLE, KIND_LABEL, KIND_INDEX, KIND_OTHER };

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Does the visit belong to the party, at any time and for any file? */
static bool is_of(const struct distil *d, uint32_t party, const struct visit *x)
{
	return x->task < d->task_count && d->task[x->task].party == party &&
	       x->file < d->file_count;
}

static struct sample_file *sample_file(const struct samplebook *b, uint32_t id)
{
	return (struct sample_file *)b->files.at + id;
}

const struct sample_file *samplebook_at(const struct samplebook *b, uint32_t id)
{
	if (id >= b->ids || sample_file(b, id)->visits == 0)
		return NULL;
	return sample_file(b, id);
}

static uint64_t stated_bytes(const struct distil *d, uint32_t id)
{
	const struct file_account *f = trace_files_at(&d->files, id);

	return f && f->size_bytes ? f->size_bytes - 1 : 0;
}

uint64_t samplebook_bytes(const struct samplebook *b, const struct distil *d, uint32_t id)
{
	const struct sample_file *f = samplebook_at(b, id);

	return u64_max(stated_bytes(d, id), f ? f->end : 0);
}

/* The stride, or 0 if it is chance. */
static uint64_t checked_stride(uint64_t stride, uint64_t file_bytes, uint64_t visits)
{
	if (stride < STRIDE_LEAST && stride && file_bytes / stride > PIECES_A_VISIT * visits)
		return 0;
	return stride;
}

uint64_t samplebook_stride(const struct samplebook *b, uint32_t id)
{
	const struct sample_file *f = samplebook_at(b, id);

	if (b->least == b->most || !f)
		return b->stride_bytes;
	return checked_stride(f->begins_apart ? f->begins_apart : f->ends_apart, f->end, f->visits);
}

static void add_companion(const struct samplebook *b, struct sample_companions *to,
			  const struct distil *d, const struct visit *x)
{
	struct sample_file *f = sample_file(b, x->file);
	uint64_t bytes =
		u64_max(stated_bytes(d, x->file), x->off == TRACE_UNKNOWN ? 0 : x->end_off);

	if (to->visits++ == 0)
		to->first = x->file;
	if (f->is_counted)
		return;
	f->is_counted = true;
	if (to->files++ == 0)
		to->least = bytes;
	to->least = u64_min(to->least, bytes);
	to->most = u64_max(to->most, bytes);
	to->bytes += bytes;
}

/* Files of labels and indexes may end as samples do. */
static uint8_t kind_of(const struct distil *d, uint32_t file)
{
	enum detect_name name;
	const char *path;

	switch (distil_class(d, file)) {
	case CLASS_LABEL:
		return KIND_LABEL;
	case CLASS_INDEX:
		return KIND_INDEX;
	case CLASS_SAMPLE:
		path = distil_path(d, file);
		name = detect_name(path);
		return name == NAME_LABEL || strstr(path, LABEL_WORD) ? KIND_LABEL
		       : name == NAME_LITTER                          ? KIND_INDEX
								      : KIND_SAMPLE;
	default:
		return KIND_OTHER;
	}
}

static void add_visit(struct samplebook *b, const struct distil *d, uint32_t party,
		      const struct visit *x, uint8_t *stages)
{
	if (!is_of(d, party, x) || !(x->flags & (VISIT_READS | VISIT_MAPS)))
		return;
	struct sample_file *f = sample_file(b, x->file);
	if (f->kind == KIND_UNKNOWN)
		f->kind = kind_of(d, x->file);
	if (f->kind == KIND_INDEX)
		add_companion(b, &b->indexes, d, x);
	if (x->stage >= d->stage_count)
		return;
	const struct distil_stage *s = &d->stages[x->stage];
	if (s->kind != STAGE_TRAIN || s->party != party)
		return;
	if (f->kind == KIND_LABEL)
		add_companion(b, &b->labels, d, x);
	if (f->kind != KIND_SAMPLE)
		return;
	stages[x->stage] = 1;

	if (x->off != TRACE_UNKNOWN) {
		if (f->visits == 0) {
			f->begins = x->off;
			f->ends = x->end_off;
		}
		f->begins_apart = u64_gcd(f->begins_apart, apart(x->off, f->begins));
		/* Chance decides which page is the last that the kernel maps around a fault. */
		if (!(x->flags & VISIT_MAPS))
			f->ends_apart = u64_gcd(f->ends_apart, apart(x->end_off, f->ends));
		f->end = u64_max(f->end, x->end_off);
	}
	if (f->visits == 0 && b->count++ == 0)
		b->first = x->file;
	f->visits++;
	f->opens += (x->flags & VISIT_OPENS) != 0;
	b->visits++;
	b->opens += (x->flags & VISIT_OPENS) != 0;
}

/*
 * Least ratio of variance to mean of the visits per file in a draw; a Poisson distribution has 1.
 * An interrupted epoch over files with several samples reaches this only if most of it is missing.
 */
#define DRAWN_LEAST 0.8
#define DRAWN_FILES_LEAST 32

static bool are_drawn(const struct samplebook *b)
{
	double n = (double)b->count, mean = (double)b->visits / n, squares = 0;

	if (b->count < DRAWN_FILES_LEAST || !b->is_read_again)
		return false;
	for (uint32_t id = 0; id < b->ids; id++) {
		double visits = sample_file(b, id)->visits;

		squares += visits * visits;
	}
	return squares / n - mean * mean >= DRAWN_LEAST * mean;
}

int samplebook_init(struct samplebook *b, const struct distil *d, uint32_t party,
		    struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	uint8_t *stages = mem_zalloc((size_t)d->stage_count + 1);
	int rc;

	*b = (struct samplebook){ .ids = d->file_count };
	spill_reserve(&b->files, ((size_t)d->file_count + 1) * sizeof(struct sample_file));
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0)
		add_visit(b, d, party, x, stages);
	for (uint32_t i = 0; i < d->stage_count; i++)
		b->epochs += stages[i];
	mem_free(stages);
	if (d->has_markers)
		b->epochs = u64_max(b->epochs, d->marks.epochs.count);
	b->is_read_again = b->visits > b->count + b->count / 2;
	b->is_drawn = are_drawn(b);

	/* Sum the figures of all files. */
	struct spill seen = { 0 };
	uint64_t begins = 0, ends = 0;
	b->has_stated_sizes = true;
	for (uint32_t id = 0; id < b->ids; id++) {
		const struct sample_file *f = samplebook_at(b, id);
		const struct file_account *a = trace_files_at(&d->files, id);

		if (!f)
			continue;
		uint64_t bytes = samplebook_bytes(b, d, id);
		b->has_stated_sizes &= stated_bytes(d, id) >= f->end && bytes;
		b->least = b->bytes ? u64_min(b->least, bytes) : bytes;
		b->most = u64_max(b->most, bytes);
		b->bytes += bytes;
		begins = u64_gcd(begins, f->begins_apart);
		ends = u64_gcd(ends, f->ends_apart);
		if (!a)
			continue;
		spill_reserve(&seen, (size_t)a->directory + 1);
		b->directories += !((uint8_t *)seen.at)[a->directory];
		((uint8_t *)seen.at)[a->directory] = 1;
	}
	spill_free(&seen);
	if (b->least == b->most)
		b->stride_bytes = checked_stride(begins ? begins : ends, b->most, b->visits);

	return rc;
}

void samplebook_fini(struct samplebook *b)
{
	spill_free(&b->files);
	*b = (struct samplebook){ 0 };
}

size_t samplebook_sizes(const struct samplebook *b, const struct distil *d, uint64_t *out,
			size_t most)
{
	uint64_t step = divide_up(b->count, most), nth = 0;
	size_t n = 0;

	for (uint32_t id = 0; id < b->ids; id++) {
		if (!samplebook_at(b, id) || nth++ % step)
			continue;
		out[n++] = samplebook_bytes(b, d, id);
	}
	qsort(out, n, sizeof(*out), u64_compare);
	return n;
}

struct explain_visit *samplevisits_all(const struct distil *d, uint32_t party,
				       const struct samplebook *b, unsigned *count)
{
	struct explain_visit *all = mem_array((size_t)d->specimens.count + 1, sizeof(*all));

	*count = 0;
	for (uint32_t i = 0; i < d->specimens.count; i++) {
		const struct specimen *s = &d->specimens.at[i];
		uint32_t file = s->visit.file;

		if (!samplebook_at(b, file) || !is_of(d, party, &s->visit) ||
		    !(s->visit.flags & VISIT_READS))
			continue;
		all[(*count)++] = (struct explain_visit){
			.specimen = s,
			.file_bytes = samplebook_bytes(b, d, file),
			.stride_bytes = samplebook_stride(b, file),
		};
	}
	return all;
}

unsigned samplevisits(struct explain_visit out[SAMPLEVISITS_MOST], const struct distil *d,
		      uint32_t party, const struct samplebook *b)
{
	unsigned count;
	struct explain_visit *all = samplevisits_all(d, party, b, &count);
	unsigned n = count < SAMPLEVISITS_MOST ? count : SAMPLEVISITS_MOST;

	for (unsigned i = 0; i < n; i++)
		out[i] = all[(uint64_t)i * count / n];
	mem_free(all);
	return n;
}

bool samplevisits_direct(const struct explain_visit *visits, unsigned count)
{
	unsigned opens = 0, direct = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct specimen *s = visits[i].specimen;

		for (uint32_t k = 0; k < s->count; k++) {
			if (s->calls[k].op != TRACE_OPEN || s->calls[k].len_bytes == TRACE_UNKNOWN)
				continue;
			opens++;
			direct += (s->calls[k].len_bytes & O_DIRECT) != 0;
		}
	}
	return direct * 2 > opens;
}

/* Does a visit have page faults? */
static bool has_faults(const struct specimen *s)
{
	uint32_t k = 0;

	while (k < s->count && s->calls[k].op != TRACE_FAULT)
		k++;
	return k < s->count;
}

bool samplevisits_mapped(const struct explain_visit *visits, unsigned count)
{
	unsigned mapped = 0;

	for (unsigned i = 0; i < count; i++)
		mapped += has_faults(visits[i].specimen);
	return mapped * 2 > count;
}

uint64_t samplevisits_largest_read(const struct explain_visit *visits, unsigned count)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct specimen *s = visits[i].specimen;

		if (!has_faults(s))
			continue;
		for (uint32_t k = 0; k < s->count; k++)
			if (s->calls[k].op == TRACE_READ && s->calls[k].len_bytes > most)
				most = s->calls[k].len_bytes;
	}
	return most;
}
