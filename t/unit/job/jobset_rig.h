/* SPDX-License-Identifier: Apache-2.0 */
/* jobset_rig.h - a command line and files become jobs, over engines of the test's own. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "job/job.h"
#include "temp.h"

struct ring_opts {
	uint64_t depth;
	char *label;
	uint64_t window;
};

/* clang-format off */
static const struct mlgen_field ring_fields[] = {
	{ "ring_depth", MLGEN_F_U64(struct ring_opts, depth), .def = "8", .min = 1, .max = 64, .help = "x.", .group = "x" },
	{ "ring_label", MLGEN_F_STR(struct ring_opts, label), .help = "x.", .group = "x" },
	{ "ring_window", MLGEN_F_SIZE(struct ring_opts, window), .def = "1m", .help = "x.", .group = "x" },
	{ 0 },
};
/* clang-format on */

/* An option of the same name that is something else. */
struct chain_opts {
	bool unused;
	char *depth;
};

/* clang-format off */
static const struct mlgen_field chain_fields[] = {
	{ "ring_depth", MLGEN_F_STR(struct chain_opts, depth), .help = "x.", .group = "x" },
	{ 0 },
};
/* clang-format on */

#define ALL_CAPS (MLGEN_CAP_DIRECT | (MLGEN_CAP(MLGEN_OPS) - 1))

static const struct mlgen_engine psync_engine = { .name = "psync", .caps = ALL_CAPS };
static const struct mlgen_engine ring_engine = {
	.name = "ring",
	.caps = ALL_CAPS,
	.opts = ring_fields,
	.opts_size = sizeof(struct ring_opts),
};
static const struct mlgen_engine chain_engine = {
	.name = "chain",
	.caps = ALL_CAPS,
	.opts = chain_fields,
	.opts_size = sizeof(struct chain_opts),
};
static const struct mlgen_engine *const engines[] = { &psync_engine, &ring_engine, &chain_engine,
						      NULL };

static inline const char *why_absent(const char *engine)
{
	return strcmp(engine, "libaio") == 0 ? "libaio not found" : NULL;
}

static char dir[TEMP_BYTES];
static struct jobset set;
static struct diag faults;

static inline void setup(void)
{
	temp_folder(dir);
	ck_assert_int_eq(chdir(dir), 0);
	unsetenv("MLGEN_JOBS");
	diag_init(&faults);
	memset(&set, 0, sizeof(set));
}

static inline void teardown(void)
{
	diag_fini(&faults);
	jobset_fini(&set);
	ck_assert_int_eq(chdir("/"), 0);
	temp_remove(dir);
}

static inline void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* The words of `line` as a command line. */
static inline int load(const char *line)
{
	const struct jobset_env env = { .engines = engines, .why_absent = why_absent };
	char *words = mem_strdup(line), *at = words;
	char *argv[32] = { words };
	int argc = 1, rc = 0;

	while (*at && argc < 31) {
		argv[argc++] = at;
		at += strcspn(at, " ");
		if (*at)
			*at++ = '\0';
	}
	rc = jobset_load(&set, argc, argv, &env, &faults);
	mem_free(words);
	return rc;
}

static inline const char *first_fault(void)
{
	return faults.count ? faults.entries[0].text : "";
}
