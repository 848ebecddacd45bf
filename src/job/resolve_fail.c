/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_fail.c - see resolve_fail.h. */
#include "job/resolve_fail.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "job/elsewhere.h"
#include "job/fio_options.h"
#include "job/settings.h"
#include "job/workload.h"

static const char *nearest_option(const struct resolver *r, const char *key)
{
	size_t n = resolve_engine_count(&r->engines), at = 0;
	const struct mlgen_field **tables = mem_array(n + 3, sizeof(*tables));
	const char *nearest = NULL;

	tables[at++] = job_fields;
	tables[at++] = settings_fields;
	for (size_t i = 0; i < n; i++) {
		if (r->engines.env->engines[i]->opts)
			tables[at++] = r->engines.env->engines[i]->opts;
	}
	nearest = field_nearest(tables, key);
	mem_free(tables);
	return nearest;
}

static void resolve_fail_fio(const struct resolver *r, const struct opt *o,
			     const struct fio_option *fio)
{
	struct buf hint = { 0 };

	if (fio->hint)
		buf_addf(&hint, ": %s", fio->hint);
	if (fio->note)
		diag_add(r->d, DIAG_ERROR, o->at, "%s=%s: fio option, in mlgen only as %s=%.*s%s",
			 o->key, o->value, o->key, (int)strcspn(fio->when, "|"), fio->when,
			 buf_str(&hint));
	else
		diag_add(r->d, DIAG_ERROR, o->at, "%s: fio option, not in mlgen%s", o->key,
			 buf_str(&hint));
	buf_fini(&hint);
}

void resolve_fail_unknown(const struct resolver *r, const struct opt *o)
{
	const struct fio_option *fio = fio_option_find(o->key);
	const struct loaded_engine *failed = resolve_engine_failed(&r->engines);
	const char *nearest = NULL, *here = NULL;

	/* Past what is printed they are only counted: noise must be quick. */
	if (!fio && diag_has_room(r->d, o->at.file)) {
		here = elsewhere_option(o->key);
		nearest = nearest_option(r, o->key);
	}
	if (fio && fio_option_is_harmless(fio, o->value))
		diag_add(r->d, DIAG_NOTE, o->at, "%s: fio option, changes nothing here: %s", o->key,
			 fio->note);
	else if (fio)
		resolve_fail_fio(r, o, fio);
	else if (field_find(settings_fields, o->key))
		diag_add(r->d, DIAG_ERROR, o->at, "%s: belongs on the command line, as --%s",
			 o->key, o->key);
	else if (strcmp(o->key, "include") == 0)
		diag_add(r->d, DIAG_ERROR, o->at, "include: written without '=': include FILE");
	else if (here)
		diag_add(r->d, DIAG_ERROR, o->at, "%s: unknown option; in mlgen it is %s", o->key,
			 here);
	else if (failed)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: unknown option, unless one of ioengine=%s, which cannot be loaded",
			 o->key, failed->path);
	else
		diag_add(r->d, DIAG_ERROR, o->at, "%s: unknown option%s%s%s", o->key,
			 nearest ? "; did you mean '" : "", nearest ? nearest : "",
			 nearest ? "'?" : "");
}

void resolve_note_unchecked(const struct resolver *r, const struct opt *o,
			    const struct mlgen_engine *e)
{
	const char *nearest = nearest_option(r, o->key);

	diag_add(r->d, DIAG_NOTE, o->at,
		 "%s: not checked; ioengine=%s, which is not loaded, may have it%s%s%s", o->key,
		 e->name, nearest ? ", or did you mean '" : "", nearest ? nearest : "",
		 nearest ? "'?" : "");
}

bool resolve_fail_phase(const struct resolver *r, const struct opt *o, const struct job *j,
			bool is_decided, bool is_own)
{
	const char *phase = job_work_name(j);
	const char *instead = workload_instead(job_work(j), o->field);

	if (is_decided && instead && (is_own || !o->at.file)) {
		diag_add(r->d, DIAG_ERROR, o->at, "%s: %s; phase=%s has %s instead", o->key,
			 workload_of(o->field), phase, instead);
		return false;
	}
	if (!is_decided)
		diag_add(r->d, DIAG_ERROR, o->at,
			 "%s: %s; say which one it is: add rw=read, which is fio's default", o->key,
			 workload_of(o->field));
	else if (is_own)
		diag_add(r->d, DIAG_ERROR, o->at, "%s: %s; this job is phase=%s", o->key,
			 workload_of(o->field), phase);
	else
		diag_add(r->d, DIAG_NOTE, o->at, "%s: %s; jobs of phase=%s go without it", o->key,
			 workload_of(o->field), phase);
	return is_decided && !is_own;
}
