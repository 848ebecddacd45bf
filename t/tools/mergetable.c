/* SPDX-License-Identifier: Apache-2.0 */
/* mergetable.c - what two values of each figure become: in a group, of clients, in turn. */
#include <stdio.h>

#include "../unit/merge_rig.h"
#include "job/job.h"
#include "run/result/result.h"

enum { WAYS = MERGE_TURNS + 1 };

/* Two records, and the first with the second in it in each way. */
struct merged_records {
	const char *of[2 + WAYS];
};

static void print_value(const struct mlgen_field *f, const char *at)
{
	const void *p = at;

	if (!at) {
		printf(" -");
		return;
	}
	switch (f->type) {
	case MLGEN_BOOL:
		printf(" %d", *(const bool *)p);
		break;
	case MLGEN_F64:
	case MLGEN_PERCENT:
		printf(" %.9g", *(const double *)p);
		break;
	case MLGEN_STR:
		printf(" \"%s\"", f->stride ? at : *(const char *const *)p ?: "(none)");
		break;
	case MLGEN_HIST:
		printf(" %llu", *(struct hist *const *)p
					? (unsigned long long)(*(struct hist *const *)p)->count
					: 0);
		break;
	default:
		printf(" %lld", *(const long long *)p);
	}
}

static void print_table(const struct mlgen_field *table, const char *path,
			const struct merged_records *r);

/* How many elements each has, and the first ones. */
static void print_list(const struct mlgen_field *f, const char *path,
		       const struct merged_records *r)
{
	struct merged_records first = { .of = { NULL } };
	char element[512];

	printf("%s[]", path);
	for (unsigned i = 0; i < 2 + WAYS; i++) {
		const struct metric_list *l = (const void *)r->of[i];

		printf(" %zu", l ? l->count : 0);
		if (l && l->count > 0)
			first.of[i] = l->items;
	}
	printf("\n");
	snprintf(element, sizeof(element), "%.400s[0]", path);
	if (f->sub)
		print_table(f->sub, element, &first);
}

static void print_row(const struct mlgen_field *f, const char *path, const struct merged_records *r)
{
	if (f->type == MLGEN_LIST || f->type == MLGEN_F64_ARRAY) {
		print_list(f, path, r);
	} else if (f->type == MLGEN_OBJECT) {
		if (f->sub)
			print_table(f->sub, path, r);
	} else {
		printf("%s", path);
		for (unsigned i = 0; i < 2 + WAYS; i++)
			print_value(f, r->of[i]);
		printf("\n");
	}
}

static void print_table(const struct mlgen_field *table, const char *path,
			const struct merged_records *r)
{
	char row[512];

	for (const struct mlgen_field *f = table; f->name; f++) {
		struct merged_records at;

		for (unsigned i = 0; i < 2 + WAYS; i++)
			at.of[i] = r->of[i] ? r->of[i] + f->off : NULL;
		snprintf(row, sizeof(row), "%s%s%s", path, *path && *f->name ? "." : "", f->name);
		print_row(f, row, &at);
	}
}

/* ---- records: the same number in each row, whatever rows there are ---- */

static void set_table(const struct mlgen_field *table, char *base, unsigned n);

static void set_elements(const struct mlgen_field *f, struct metric_list *l, unsigned n)
{
	for (size_t i = 0; i < l->count; i++)
		if (f->sub)
			set_table(f->sub, (char *)l->items + i * f->stride, n + (unsigned)i);
		else
			((double *)l->items)[i] = n + (double)i / 4;
}

static void set_hist(struct hist **h, unsigned n)
{
	*h = keep(hist_new());
	for (unsigned i = 0; i < n; i++)
		hist_add(*h, 1000);
}

static void set_row(const struct mlgen_field *f, void *to, unsigned n)
{
	switch (f->type) {
	case MLGEN_BOOL:
		*(bool *)to = n % 2;
		break;
	case MLGEN_F64:
	case MLGEN_PERCENT:
		*(double *)to = n + .25;
		break;
	case MLGEN_STR:
		put_text(f, to, n % 2 ? "odd" : "even");
		break;
	case MLGEN_HIST:
		set_hist(to, n);
		break;
	case MLGEN_LIST:
	case MLGEN_F64_ARRAY:
		set_elements(f, to, n);
		break;
	case MLGEN_OBJECT:
		if (f->sub)
			set_table(f->sub, to, n);
		break;
	default:
		*(uint64_t *)to = n;
	}
}

static void set_table(const struct mlgen_field *table, char *base, unsigned n)
{
	for (const struct mlgen_field *f = table; f->name; f++)
		set_row(f, base + f->off, n);
}

static void set_record(struct job_result *r, const struct job *job, const struct workload *work,
		       unsigned n)
{
	draws = n; /* of lists, and of what has no row */
	fill_record(r, job, work);
	fill(metrics_result_fields, (char *)r, false);
	set_table(metrics_result_fields, (char *)r, n);
	r->ml.saves.items.count = r->ml.saves.count = 2;
	r->ml.restores.items.count = r->ml.restores.count = 2;
	r->io.replay.slices.count = 2;
	r->io.replay.slice_seconds = 2; /* else they do not merge */
	r->numa.loader_nodes = NULL;    /* its rule makes the text */
	r->numa.seen = (struct node_set){ 0 };
	node_set_add(&r->numa.seen, n);
	r->failed.is_too_many = false;
	r->err.code = 0;
	r->wall_seconds = n;
}

/* Records of `work`, each way from the same ones. */
static void print_work(const char *name, const struct workload *work, const struct job *job)
{
	static struct job_result first[1 + WAYS], second[1 + WAYS];
	struct merged_records r = { .of = { (char *)&first[WAYS], (char *)&second[WAYS] } };

	for (unsigned i = 0; i <= WAYS; i++) {
		set_record(&first[i], job, work, 4);
		set_record(&second[i], job, work, 7);
	}
	for (unsigned i = 0; i < WAYS; i++) {
		merge_jobs(&first[i], &second[i], (enum merge_how)i, &memory, NULL);
		r.of[2 + i] = (char *)&first[i];
	}
	printf("# %s: first, second, in a group, of clients, in turn\n", name);
	print_table(metrics_result_fields, "", &r);
	for (unsigned i = 0; i < WAYS; i++)
		keep(first[i].numa.loader_nodes);
	free_all();
}

int main(void)
{
	struct job *job = job_new("a");

	print_work("train", &work_train, job);
	print_work("io", &work_io, job);
	job_free(job);
	return 0;
}
