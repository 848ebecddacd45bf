/* SPDX-License-Identifier: Apache-2.0 */
/* plan_parts.c - what plans of trainings and of plain jobs have in common. */
#include "report/plan_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "report/page.h"

/* Of this name: there already, or a new one. */
static struct plan_check *check_named(struct plan_report *p, const char *name)
{
	struct metric_list *l = &p->checks;
	struct plan_check *checks = l->items;

	for (size_t i = 0; i < l->count; i++)
		if (strcmp(checks[i].name, name) == 0)
			return &checks[i];
	l->items = mem_realloc(l->items, (l->count + 1) * sizeof(struct plan_check));
	checks = l->items;
	checks[l->count] = (struct plan_check){ .name = mem_strdup(name), .state = -1 };
	return &checks[l->count++];
}

void plan_add_check(struct plan_report *p, const char *name, enum plan_state state, const char *fmt,
		    ...)
{
	struct plan_check *check = check_named(p, name);
	char text[MLGEN_ERR_MAX];
	va_list ap;

	if (check->state >= (int)state)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	check->state = (int)state;
	mem_replace(&check->text, *text ? text : NULL);
}

void plan_add_fail(struct plan_report *p, const char *name, const struct mlgen_err *why)
{
	plan_add_check(p, name, PLAN_FAIL, "%s", why->text);
}

bool plan_has_failed(const struct plan_report *p, const char *name)
{
	const struct plan_check *check = plan_find_check(p, name);

	return check && check->state == PLAN_FAIL;
}

void plan_check_direct(struct plan_report *p, const char *probe)
{
	struct mlgen_err err = { 0 };
	char size[UNITS_TEXT_BYTES];

	if (mount_direct_alignment(probe, &p->direct_align_bytes, &err)) {
		p->direct_align_bytes = 0;
		plan_add_fail(p, "direct", &err);
		return;
	}
	units_human_bytes(size, (double)p->direct_align_bytes);
	plan_add_check(p, "direct", PLAN_OK, "requests are rounded to %s", size);
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
