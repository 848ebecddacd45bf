/* SPDX-License-Identifier: Apache-2.0 */
/* prom_family.c - see prom_family.h. */
#include "report/prom_family.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

static const struct {
	const char *unit, *ending, *base;
} units[] = {
	{ "bytes", "_bytes", "bytes" },
	{ "s", "_seconds", "seconds" },
	{ "ns", "_seconds", "seconds" },
	{ "%", "_percent", "ratio" },
};

bool prom_is_metric(const struct live_field *f)
{
	/* Percentiles follow from the histogram. */
	return f->field.help && f->field.type != MLGEN_STR && !(f->percent > 0) &&
	       !(f->metric && !*f->metric);
}

static size_t length_without(const char *key, const char *ending)
{
	size_t n = strlen(key), m = strlen(ending);

	return n > m && strcmp(key + n - m, ending) == 0 ? n - m : n;
}

static void put_name(struct prom_family *p, const struct live_field *f, bool is_target)
{
	const char *key = f->field.name, *unit = f->field.unit;
	size_t length = strlen(key);

	p->unit = NULL;
	for (size_t i = 0; unit && i < ARRAY_LEN(units); i++)
		if (strcmp(unit, units[i].unit) == 0) {
			length = length_without(key, units[i].ending);
			p->unit = units[i].base;
		}
	snprintf(p->name, sizeof(p->name), "mlgen_%.*s%s%s%s", (int)length, key,
		 is_target ? "_target" : "", p->unit ? "_" : "", p->unit ? p->unit : "");
}

static void put_help(struct prom_family *p, const struct live_field *f, bool is_target)
{
	if (is_target)
		buf_add(&p->help, "How many there are in all: ");
	buf_add(&p->help, f->metric ? f->metric : f->field.help);
	if (f->field.type != MLGEN_ENUM)
		return;
	for (const struct mlgen_choice *c = f->field.choices; c->name; c++)
		buf_addf(&p->help, "%s%d is %s", c == f->field.choices ? " " : ", ", c->value,
			 c->name);
	buf_addc(&p->help, '.');
}

void prom_family_init(struct prom_family *p, const struct live_field *f, bool is_target)
{
	*p = (struct prom_family){ 0 };
	p->type = f->kind == LIVE_COUNTER        ? PROM_COUNTER
		  : f->kind == LIVE_DISTRIBUTION ? PROM_HISTOGRAM
						 : PROM_GAUGE;
	put_name(p, f, is_target);
	put_help(p, f, is_target);
}

void prom_family_fini(struct prom_family *p)
{
	buf_fini(&p->help);
}
