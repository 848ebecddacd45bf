/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - see shared.h. */
#include "run/shared.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/util.h"

static bool has_files(const struct slot *s)
{
	return slot_has_dataset(s) && slot_touches_files(s);
}

/* One directory holds one dataset, or parts of it. */
static int check_shared(const struct slot *a, const struct slot *b, struct mlgen_err *err)
{
	static const char *const same[] = { "format",      "samples_per_file", "subfolders",
					    "sample_size", "dataset",          "label_size",
					    "columns",     "row_group_size" };
	struct buf of_a = { 0 }, of_b = { 0 };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(same) && rc == 0; i++) {
		buf_reset(&of_a);
		buf_reset(&of_b);
		job_option_text(a->job, same[i], &of_a);
		job_option_text(b->job, same[i], &of_b);
		if (strcmp(buf_str(&of_a), buf_str(&of_b)) != 0)
			rc = mlgen_fail(err, -EINVAL,
					"%s: dataset %s is that of %s too, with %s=%s, this job "
					"says %s; use another directory for one of them",
					b->job->name, b->dataset.directory, a->job->name, same[i],
					buf_str(&of_a), buf_str(&of_b));
	}
	buf_fini(&of_a);
	buf_fini(&of_b);
	return rc;
}

static bool have_one(const struct slot *a, const struct slot *b)
{
	return has_files(a) && has_files(b) &&
	       strcmp(a->dataset.directory, b->dataset.directory) == 0;
}

void shared_find(struct slot *slots, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct slot *s = &slots[i];

		s->largest = s;
		for (size_t k = 0; k < count; k++)
			if (have_one(s, &slots[k]) &&
			    slots[k].dataset.files > s->largest->dataset.files)
				s->largest = &slots[k];
	}
}

int shared_check(const struct slot *s, struct mlgen_err *err)
{
	int rc = 0;

	for (const struct slot *other = s->all; other < s && rc == 0; other++)
		if (have_one(other, s))
			rc = check_shared(other, s, err);
	return rc;
}
