/* SPDX-License-Identifier: Apache-2.0 */
/* unknown.c - see unknown.h. */
#include "field/unknown.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "stat/metric.h"

/* Of one type each. */
#define UNKNOWN(type) static void unknown_##type(const struct mlgen_field *f, void *member)

UNKNOWN(bool)
{
	(void)f;
	*(bool *)member = false;
}

UNKNOWN(u64)
{
	*(uint64_t *)member = f->flags & MLGEN_NULLABLE ? UINT64_MAX : 0;
}

UNKNOWN(f64)
{
	(void)f;
	*(double *)member = (double)NAN;
}

UNKNOWN(choice)
{
	(void)f;
	*(int *)member = 0;
}

/* In the struct itself, or what it points to. */
UNKNOWN(text)
{
	memset(member, 0, f->stride ? f->stride : sizeof(char *));
}

UNKNOWN(hist)
{
	(void)f;
	*(struct hist **)member = NULL;
}

/* Who has filled a list may need its room again. */
UNKNOWN(list)
{
	(void)f;
	((struct metric_list *)member)->count = 0;
}

UNKNOWN(object)
{
	fields_unknown(f->sub, member);
}

void field_unknown(const struct mlgen_field *f, void *member)
{
	static void (*const types[])(const struct mlgen_field *, void *) = {
		[MLGEN_BOOL] = unknown_bool,   [MLGEN_U64] = unknown_u64,
		[MLGEN_SIZE] = unknown_u64,    [MLGEN_TIME] = unknown_u64,
		[MLGEN_F64] = unknown_f64,     [MLGEN_PERCENT] = unknown_f64,
		[MLGEN_ENUM] = unknown_choice, [MLGEN_STR] = unknown_text,
		[MLGEN_HIST] = unknown_hist,   [MLGEN_OBJECT] = unknown_object,
		[MLGEN_LIST] = unknown_list,   [MLGEN_F64_ARRAY] = unknown_list,
		[MLGEN_MAP] = unknown_list,    [MLGEN_TEXTS] = unknown_text,
	};

	if (f->type < ARRAY_LEN(types) && types[f->type])
		types[f->type](f, member);
}

void fields_unknown(const struct mlgen_field *table, void *base)
{
	for (const struct mlgen_field *f = table; f->name; f++)
		field_unknown(f, (char *)base + f->off);
}
