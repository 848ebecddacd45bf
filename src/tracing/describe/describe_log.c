/* SPDX-License-Identifier: Apache-2.0 */
/* describe_log.c - a trace over time, as rows of CSV. */
#include "tracing/describe/describe.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is not known is empty. */
static void put_cell(FILE *to, const struct mlgen_field *f, const struct interval *i)
{
	const char *at = (const char *)i + f->off;
	double real;
	uint64_t whole;

	if (f->type == MLGEN_F64) {
		memcpy(&real, at, sizeof(real));
		if (!isnan(real))
			fprintf(to, "%.*f", f == interval_fields ? 3 : 2, real);
		return;
	}
	memcpy(&whole, at, sizeof(whole));
	if (whole != UINT64_MAX)
		fprintf(to, "%" PRIu64, whole);
}

void describe_log(FILE *to, const struct description *d)
{
	for (const struct mlgen_field *f = interval_fields; f->name; f++)
		fprintf(to, "%s%s", f == interval_fields ? "" : ",", f->name);
	fputc('\n', to);
	for (size_t i = 0; i < d->log.count; i++) {
		for (const struct mlgen_field *f = interval_fields; f->name; f++) {
			if (f != interval_fields)
				fputc(',', to);
			put_cell(to, f, &d->log.at[i]);
		}
		fputc('\n', to);
	}
}
