/* SPDX-License-Identifier: Apache-2.0 */
/* figure_unknown.c - a key that nothing has, and what was meant by it. */
#include "ask/figure_inside.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "io/engines.h"
#include "job/job.h"

size_t figure_roots(const struct figure *f)
{
	return f->is_measured ? RECORD_ROOTS_MEASURED : RECORD_ROOTS;
}

/* The object that has it, where the key lacks that. */
static const char *find_holder(const struct figure *f, const char *part)
{
	for (size_t i = 0; i < figure_roots(f); i++)
		for (const struct mlgen_field *in = record_roots[i].table;
		     !record_roots[i].name && in->name; in++)
			if (in->type == MLGEN_OBJECT && field_row(in->sub, part, strlen(part)))
				return in->name;
	return NULL;
}

static const char *nearest_at_first(const struct figure *f, const char *part)
{
	const struct mlgen_field *tables[32] = { metrics_ml_fields, metrics_io_fields,
						 metrics_job_fields };
	size_t at = 3;

	if (!f->is_measured) {
		tables[at++] = job_fields;
		tables[at++] = metrics_top_fields;
		for (size_t i = 0; engines_built[i] && at + 1 < ARRAY_LEN(tables); i++)
			if (engines_built[i]->opts)
				tables[at++] = engines_built[i]->opts;
	}
	return field_nearest(tables, part);
}

/* The nearest there is, with the rest of the key behind it. */
int figure_unknown(const struct figure *f, const char *lost, const struct mlgen_field *table,
		   struct mlgen_err *err)
{
	const struct mlgen_field *const deeper[] = { table, NULL };
	const char *what = f->is_measured ? "no run measures it" : "no result has it";
	size_t len = strcspn(lost, ".");
	char *part = mem_strndup(lost, len);
	const char *in = lost == f->path ? find_holder(f, part) : NULL;
	const char *near =
		lost == f->path ? nearest_at_first(f, part) : field_nearest(deeper, part);

	if (in)
		near = part;
	if (near && (in || strcmp(near, part) != 0))
		mlgen_fail(err, -EINVAL, "%s: %s; did you mean '%.*s%s%s%s%s'?", f->key, what,
			   (int)(lost - f->path), f->path, in ? in : "", in ? "." : "", near,
			   lost + len);
	else
		mlgen_fail(err, -EINVAL,
			   "%s: %s; ask for a metric such as au, read.iops or stall_ns.p99%s; man "
			   "mlgen-json has all metrics",
			   f->key, what,
			   f->is_measured ? "" : ", or an option such as read_threads");
	mem_free(part);
	return -EINVAL;
}
