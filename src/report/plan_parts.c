/* SPDX-License-Identifier: Apache-2.0 */
/* plan_parts.c - what plans of trainings and of plain jobs have in common. */
#include "report/plan_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "report/page.h"
#include "run/filemaker.h"

void plan_add_check(struct plan_report *p, const char *name,
		    enum plan_state state, const char *fmt, ...)
{
	char text[MLGEN_ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct metric_list *l = &p->checks;
	l->items = mem_realloc(l->items,
			       (l->count + 1) * sizeof(struct plan_check));
	struct plan_check *checks = l->items;
	checks[l->count++] = (struct plan_check){
		.name = mem_strdup(name),
		.state = (int)state,
		.text = *text ? mem_strdup(text) : NULL,
	};
}

void plan_check_open_files(struct plan_report *p, const struct host *host,
			   const char *fewer)
{
	uint64_t need = p->open_files;

	p->open_files_limit = host->open_files;
	if (need <= host->open_files)
		plan_add_check(p, "files", PLAN_OK, "%s", "");
	else
		plan_add_check(p, "files", PLAN_FAIL,
			       "%" PRIu64 " files open at once, %" PRIu64
			       " allowed: ulimit -n %" PRIu64 ", or %s",
			       need, host->open_files, need, fewer);
}

void plan_check_room(struct plan_report *p, const struct filemaker_room *room)
{
	struct mlgen_err err = { 0 };
	enum plan_state state =
		filemaker_check_room(room, &err) < 0 ? PLAN_FAIL : PLAN_OK;

	plan_add_check(p, "space", state, "%s", err.text);
}

void plan_check_direct(struct plan_report *p, const char *probe)
{
	struct mlgen_err err = { 0 };
	char size[UNITS_TEXT_BYTES];

	if (mount_direct_alignment(probe, &p->direct_align_bytes, &err)) {
		p->direct_align_bytes = 0;
		plan_add_check(p, "direct", PLAN_FAIL, "%s", err.text);
		return;
	}
	units_human_bytes(size, (double)p->direct_align_bytes);
	plan_add_check(p, "direct", PLAN_OK, "requests are rounded to %s",
		       size);
}

bool plan_is_writable(const char *path)
{
	char *part = mem_strdup(path);

	while (access(part, F_OK) && strcmp(part, ".") && strcmp(part, "/")) {
		char *slash = strrchr(part, '/');

		if (slash == part)
			slash++;
		if (slash)
			*slash = '\0';
		else
			mem_replace(&part, ".");
	}
	bool writable = access(part, W_OK | X_OK) == 0;
	mem_free(part);
	return writable;
}

char *plan_directory(const struct plan_report *p)
{
	return job_work(p->job)->page->directory(p);
}

uint64_t plan_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t plan_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
