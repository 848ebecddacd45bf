/* SPDX-License-Identifier: Apache-2.0 */
/* job_sizes.c - the sizes of a plain job's requests: bssplit, or bs alone. */
#include "job/job.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"

/* One SIZE, SIZE/ or SIZE/PERCENT; NaN = no percentage. */
static int read_entry(const struct job *j, char *text, struct job_size *out, struct mlgen_err *err)
{
	const struct mlgen_field *bs = field_find(job_fields, "bs");
	char *slash = strchr(text, '/');
	int rc = 0;

	if (slash)
		*slash = '\0';
	out->percent = (double)NAN;
	rc = units_size(text, (unsigned)j->kb_base, &out->bytes, err);
	if (rc)
		return rc;
	if ((double)out->bytes < bs->min || (double)out->bytes > bs->max)
		return mlgen_fail(err, -EINVAL, "%s is not between 512 and 1g", text);
	if (!slash || !slash[1])
		return 0;
	rc = units_percent(slash + 1, &out->percent, err);
	if (!rc && (out->percent < 0 || out->percent > 100))
		rc = mlgen_fail(err, -EINVAL, "%s is not between 0%% and 100%%", slash + 1);
	return rc;
}

/* Entries with colons between them, up to `len`; their number. */
static int job_sizes_read_list(const struct job *j, const char *list, size_t len,
			       struct job_size *sizes, struct mlgen_err *err)
{
	const char *at = list, *end = list + len;

	for (int n = 0;; at++) {
		size_t part = strcspn(at, ":,");
		char *text = NULL;
		int rc = 0;

		if (!part)
			return mlgen_fail(err, -EINVAL, "'%.*s': a size is missing", (int)len,
					  list);
		if (n == JOB_SIZES_MAX)
			return mlgen_fail(err, -EINVAL, "more than %d sizes", JOB_SIZES_MAX);
		text = mem_strndup(at, part);
		rc = read_entry(j, text, &sizes[n++], err);
		mem_free(text);
		if (rc)
			return -EINVAL;
		at += part;
		if (at == end)
			return n;
	}
}

/* The largest, or the first without a percentage, takes what is left. */
static int fill_up(struct job_size *sizes, int n, struct mlgen_err *err)
{
	double sum = 0;
	int open = 0, largest = 0;

	for (int i = 0; i < n; i++) {
		if (isnan(sizes[i].percent))
			open++;
		else
			sum += sizes[i].percent;
		if (sizes[i].bytes > sizes[largest].bytes)
			largest = i;
	}
	/* Tenths and thirds do not sum exactly. */
	if (sum > 100 + 1e-9)
		return mlgen_fail(err, -EINVAL, "the percentages sum to %g, at most 100 can be",
				  sum);
	if (sum > 100)
		sum = 100;
	for (int i = 0; i < n; i++) {
		if (isnan(sizes[i].percent))
			sizes[i].percent = (100 - sum) / open;
	}
	if (!open)
		sizes[largest].percent += 100 - sum;
	return n;
}

int job_sizes(const struct job *j, unsigned direction, struct job_size sizes[JOB_SIZES_MAX],
	      struct mlgen_err *err)
{
	const char *list = j->bssplit ? j->bssplit : "";
	size_t len = strcspn(list, ",");
	struct mlgen_err why = { 0 };
	int n = 0;

	if (direction && list[len]) {
		list += len + 1;
		len = strcspn(list, ",");
	}
	if (!len) {
		sizes[0].bytes = direction ? j->bs.write : j->bs.read;
		sizes[0].percent = 100;
		return 1;
	}
	n = job_sizes_read_list(j, list, len, sizes, &why);
	if (n > 0)
		n = fill_up(sizes, n, &why);
	if (n < 0)
		mlgen_fail(err, -EINVAL, "bssplit: %s", why.text);
	return n;
}
