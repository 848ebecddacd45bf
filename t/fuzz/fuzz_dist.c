/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dist.c - any text as a distribution: refused, or written back and drawn from. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/dist.h"
#include "base/mem.h"

#define VALUE_MAX (UINT64_C(1) << 62)

static void check_draws(const struct dist *d)
{
	uint64_t sides[2];

	for (uint64_t i = 0; i < 8; i++) {
		uint64_t v = dist_draw(d, 42, 7, i * 1000003);

		MUST(dist_draw(d, 42, 7, i * 1000003) == v);
		MUST(v <= VALUE_MAX && (v >= 1 || dist_is_const(d)));
		dist_draw_sides(d, 42, 7, i, sides);
		MUST(sides[0] >= 1 && (sides[1] >= 1 || dist_is_const(d)));
	}
	MUST(isfinite(dist_mean(d)) && dist_mean(d) >= 0);
	MUST(isfinite(dist_expectation(d)) && dist_expectation(d) >= 0);
	MUST(isfinite(dist_stdev(d)) && dist_stdev(d) >= 0);
}

static void check(const char *text, enum dist_unit unit, unsigned kb_base)
{
	struct mlgen_err err = { 0 };
	struct buf out = { 0 };
	struct dist d, again;

	/* fuzz_dist_file.c has files; here none is opened. */
	if (strncmp(text, DIST_FILE_WORD, strlen(DIST_FILE_WORD)) == 0)
		return;
	if (dist_parse(&d, text, unit, "s", kb_base, &err) < 0) {
		MUST(err.code && *err.text);
		return;
	}
	dist_format(&out, &d, unit);
	MUST(dist_parse(&again, buf_str(&out), unit, "s", 1024, &err) == 0);
	MUST(again.kind == d.kind && again.a == d.a && again.b == d.b);
	check_draws(&d);
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_strndup((const char *)data, size);

	check(text, DIST_BYTES, 1024);
	check(text, DIST_BYTES, 1000);
	check(text, DIST_NS, 1024);
	mem_free(text);
	return 0;
}
