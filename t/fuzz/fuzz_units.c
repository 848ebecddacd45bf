/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_units.c - any text as number, size, time, percentage: refused, or exact. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"

static void check_u64(const char *text)
{
	struct mlgen_err err = { 0 };
	char out[32];
	uint64_t v, again;

	if (units_u64(text, &v, &err) < 0) {
		MUST(err.code && *err.text);
		return;
	}
	snprintf(out, sizeof(out), "%llu", (unsigned long long)v);
	MUST(units_u64(out, &again, &err) == 0 && again == v);
}

static void check_size(const char *text, unsigned kb_base)
{
	struct mlgen_err err = { 0 };
	char out[UNITS_TEXT_BYTES];
	uint64_t v, again;

	if (units_size(text, kb_base, &v, &err) < 0) {
		MUST(err.code && *err.text);
		return;
	}
	units_format_size(out, v);
	MUST(units_size(out, 1024, &again, &err) == 0 && again == v);
	MUST(strlen(units_human_bytes(out, (double)v)) < sizeof(out));
	MUST(strlen(units_human_mb(out, (double)v)) < sizeof(out));
	MUST(strlen(units_human_count(out, v)) < sizeof(out));
}

static void check_time(const char *text, const char *unit)
{
	struct mlgen_err err = { 0 };
	char out[UNITS_TEXT_BYTES];
	uint64_t v, again;

	if (units_time(text, unit, &v, &err) < 0) {
		MUST(err.code && *err.text);
		return;
	}
	units_format_time(out, v);
	MUST(units_time(out, unit, &again, &err) == 0 && again == v);
	MUST(strlen(units_human_time(out, v)) < sizeof(out));
	MUST(strlen(units_human_ms(out, (double)v)) < sizeof(out));
}

static void check_f64(const char *text, int is_percent)
{
	struct mlgen_err err = { 0 };
	char out[UNITS_TEXT_BYTES];
	double v, again;
	int rc = is_percent ? units_percent(text, &v, &err) : units_f64(text, &v, &err);

	if (rc < 0) {
		MUST(err.code && *err.text);
		return;
	}
	MUST(isfinite(v));
	units_format_f64(out, v);
	MUST(units_f64(out, &again, &err) == 0);
	MUST(memcmp(&v, &again, sizeof(v)) == 0 || v == again);
	MUST(strlen(units_sig4(out, v)) < sizeof(out));
}

static void check_bool(const char *text)
{
	struct mlgen_err err = { 0 };
	int v;

	if (units_bool(text, &v, &err) == 0)
		MUST(v == 0 || v == 1);
	else
		MUST(err.code && *err.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_strndup((const char *)data, size);

	check_u64(text);
	check_size(text, 1024);
	check_size(text, 1000);
	check_time(text, NULL);
	check_time(text, "us");
	check_f64(text, 0);
	check_f64(text, 1);
	check_bool(text);
	mem_free(text);
	return 0;
}
