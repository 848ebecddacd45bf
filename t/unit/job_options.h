/* SPDX-License-Identifier: Apache-2.0 */
/* job_options.h - options of a job, from "a=1 b=2". */
#pragma once

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/job.h"

/* One after the other, as if each was written in the job's section. */
static inline void set_options(struct job *j, const char *options)
{
	while (*options) {
		char name[64] = "", value[200] = "";
		const struct mlgen_field *f = NULL;
		int used = 0;

		ck_assert_int_eq(sscanf(options, "%63[^=]=%199[^ ]%n", name, value, &used), 2);
		f = field_find(job_fields, name);
		ck_assert_msg(f != NULL, "%s", name);
		ck_assert_int_eq(field_parse(f, j, value, (unsigned)j->kb_base, NULL), 0);
		mem_replace(&j->origins[f - job_fields].raw, value);
		options += used;
		options += strspn(options, " ");
	}
}

/* The one fault of such a job begins with `fault`; NULL = it has none. */
static inline void check_options(const struct mlgen_engine *engine, const char *options,
				 const char *fault)
{
	struct job *j = job_new("x");
	struct diag d;

	diag_init(&d);
	job_set_engine(j, engine);
	set_options(j, options);
	job_check(j, &d);
	ck_assert_msg(d.count == (fault ? 1 : 0), "%s: %s", options,
		      d.count ? d.entries[d.count - 1].text : "no fault");
	if (fault)
		ck_assert_msg(strncmp(d.entries[0].text, fault, strlen(fault)) == 0, "%s",
			      d.entries[0].text);
	diag_fini(&d);
	job_free(j);
}
