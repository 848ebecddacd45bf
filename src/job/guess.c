/* SPDX-License-Identifier: Apache-2.0 */
/* guess.c - see guess.h. */
#include "job/guess.h"

#include <string.h>

#include "base/mem.h"

#define BLANKS " \t"

/* The name at *at, owned by the caller; *at goes to the next, or is NULL. */
static char *take_name(const char **at)
{
	const char *name = *at + strspn(*at, BLANKS);
	size_t len = strcspn(name, ",");

	*at = name[len] ? name + len + 1 : NULL;
	while (len && strchr(BLANKS, name[len - 1]))
		len--;
	return mem_strndup(name, len);
}

static void guess_check_name(const struct job *j, const char *name, struct diag *d)
{
	const struct mlgen_field *const tables[] = { job_fields, NULL };
	const char *nearest = NULL;

	if (field_find(job_fields, name))
		return;
	if (!*name) {
		diag_add(d, DIAG_ERROR, job_place(j, "guess"),
			 "guess: '%s': a name is missing; write options with commas between them, "
			 "such as compute_time,batch_size",
			 j->guess);
		return;
	}
	nearest = field_nearest(tables, name);
	diag_add(d, DIAG_ERROR, job_place(j, "guess"), "guess: '%s': unknown option%s%s%s", name,
		 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

void guess_check(const struct job *j, struct diag *d)
{
	const char *at = j->guess;

	while (at) {
		char *name = take_name(&at);

		guess_check_name(j, name, d);
		mem_free(name);
	}
}

static bool is_typed(const struct job *j, const struct mlgen_field *f)
{
	const struct job_origin *o = &j->origins[f - job_fields];

	return o->raw && !o->at.file;
}

static bool is_guess(const struct job *j, const char *name)
{
	const struct mlgen_field *f = field_find(job_fields, name);

	return f && (!is_typed(j, f) || is_typed(j, field_find(job_fields, "guess")));
}

void guess_text(const struct job *j, struct buf *out)
{
	const char *at = j->guess, *between = "";

	while (at) {
		char *name = take_name(&at);

		if (is_guess(j, name)) {
			buf_addf(out, "%s%s is a guess of its source", between, name);
			between = "; ";
		}
		mem_free(name);
	}
}
