/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - the options that each workload has, and their defaults. */
#include "job/job_internal.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

const struct workload *job_work(const struct job *j)
{
	return workloads[j->phase];
}

const char *job_work_name(const struct job *j)
{
	return workload_choices[j->phase].name;
}

static bool is_in(const char *const *groups, const char *group)
{
	for (; groups && *groups; groups++)
		if (strcmp(*groups, group) == 0)
			return true;
	return false;
}

/* The workload that owns the option; NULL = every workload has it. */
static const struct workload *owner_of(const struct mlgen_field *f)
{
	for (size_t i = 0; workloads[i]; i++)
		if (is_in(workloads[i]->groups, f->group))
			return workloads[i];
	return NULL;
}

bool workload_has(const struct workload *w, const struct mlgen_field *f)
{
	return is_in(w->groups, f->group) || is_in(w->also, f->group) || !owner_of(f);
}

const char *workload_of(const struct mlgen_field *f)
{
	const struct workload *owner = owner_of(f);

	assert(owner);
	return owner->option_of;
}

const char *workload_instead(const struct workload *w, const struct mlgen_field *f)
{
	const struct workload_default *d = w->instead;

	for (; d && d->option; d++)
		if (strcmp(d->option, f->name) == 0)
			return d->value;
	return NULL;
}

int workload_implied(bool (*is_given)(const void *arg, const char *option), const void *arg)
{
	int implied = -1;

	for (int i = 0; workloads[i]; i++)
		if (workloads[i]->implied_by && is_given(arg, workloads[i]->implied_by))
			implied = i;
	return implied;
}

void workload_set_defaults(struct job *j)
{
	const struct workload_default *d = job_work(j)->defaults;
	struct buf how = { 0 };

	buf_addf(&how, "default of phase=%s", job_work_name(j));
	for (; d && d->option; d++) {
		const struct mlgen_field *f = field_find(job_fields, d->option);
		struct buf text = { 0 };
		int rc = words_expand(&text, d->value, j->name, NULL);

		if (rc == 0)
			rc = field_parse(f, j, buf_str(&text), 1024, NULL);
		assert(rc == 0);
		(void)rc;
		buf_fini(&text);
		mem_replace(&j->origins[f - job_fields].how, buf_str(&how));
	}
	buf_fini(&how);
}

bool workload_is_default(const struct job *j, const struct mlgen_field *f)
{
	const struct workload_default *d = job_work(j)->defaults;
	struct mlgen_field as = *f;

	for (; d && d->option; d++)
		if (strcmp(d->option, f->name) == 0)
			as.def = d->value;
	return field_is_default(&as, j);
}
