/* SPDX-License-Identifier: Apache-2.0 */
/* score_parts_rig.h - two profiles filled by hand, and how far apart they are. */
#pragma once

#include <check.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "tracing/score/score_internal.h"

#define EXACT 1e-9
#define NONE ((double)NAN)

/* Two traces of one phase, empty at the begin of each test. */
static struct profile real, candidate;

static struct profile_phase a, b;

static inline void setup(void)
{
	real = candidate = (struct profile){ 0 };
	a = b = (struct profile_phase){ 0 };
}

static inline void teardown(void)
{
	struct profile_phase *const phases[] = { &a, &b };

	for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
		struct profile_phase *p = phases[i];
		struct spread *const spreads[] = {
			&p->read_sizes,   &p->write_sizes,    &p->file_sizes, &p->seeks,
			&p->file_samples, &p->reuse,          &p->think,      &p->steps,
			&p->block_sizes,  &p->inflight.depth,
		};

		for (size_t k = 0; k < ARRAY_LEN(spreads); k++)
			spread_fini(spreads[k]);
	}
}

static inline struct score_distance look(const char *name)
{
	const struct score_pair pair = { &real, &candidate, &a, &b };
	const struct score_part *part = score_parts;

	while (part->name && strcmp(part->name, name) != 0)
		part++;
	ck_assert_msg(part->name != NULL, "no part '%s'", name);
	return part->distance(&pair, part);
}

static inline void check_is(const char *name, double want)
{
	struct score_distance d = look(name);

	ck_assert_msg(fabs(d.value - want) < EXACT, "%s: %.17g, not %.17g", name, d.value, want);
	ck_assert_msg(d.why == NULL, "%s: %s", name, d.why);
}

static inline void check_unknown(const char *name, const char *why)
{
	struct score_distance d = look(name);

	ck_assert_msg(isnan(d.value), "%s: %g", name, d.value);
	ck_assert_pstr_eq(d.why, why);
}

/* ---- numbers ---- */

static const struct {
	const char *name;
	size_t off;
	const char *why;
} counts[] = {
	{ "bytes read", offsetof(struct profile_phase, read_bytes), "nothing was read" },
	{ "bytes written", offsetof(struct profile_phase, written_bytes), "nothing was written" },
	{ "files", offsetof(struct profile_phase, files), "no file was used" },
	{ "idle: times", offsetof(struct profile_phase, inflight.idle_count),
	  "storage was never idle for a millisecond" },
	{ "idle: time", offsetof(struct profile_phase, inflight.idle_ns),
	  "storage was never idle for a millisecond" },
};

/* ---- distributions ---- */

static const struct {
	const char *name;
	size_t off;
	const char *neither; /* NULL = one empty side is unknown, too */
	const char *one;     /* NULL = it is all the difference there can be */
} spreads[] = {
	{ "read size: D", offsetof(struct profile_phase, read_sizes), "nothing was read", NULL },
	{ "write size: D", offsetof(struct profile_phase, write_sizes), "nothing was written",
	  NULL },
	{ "file size: D", offsetof(struct profile_phase, file_sizes), "no file was used", NULL },
	{ "samples a file: D", offsetof(struct profile_phase, file_samples),
	  "no samples are marked", "one trace marks no samples" },
	{ "in flight: D", offsetof(struct profile_phase, inflight.depth),
	  "the durations of operations are not known", NULL },
	{ "block size: D", offsetof(struct profile_phase, block_sizes),
	  "block requests were not recorded", "block requests were not recorded" },
};
