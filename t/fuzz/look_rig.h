/* SPDX-License-Identifier: Apache-2.0 */
/* look_rig.h - any bytes as a file that a scan looks into: refused, or samples within it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/file/file.h"
#include "fuzz.h"

/* Of the samples so many are asked for, and of a plan so many operations. */
#define SAMPLES_MAX 64u
#define OPS_MAX 100000u

static struct namefile words;
static int file = -1;

static void set_up(void)
{
	struct mlgen_err err = { 0 };

	file = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(file >= 0);
	MUST(namefile_open(&words, NULL, &err) == 0);
}

/* The words of this file alone, which the last one's are written over. */
static const uint64_t *words_of(struct namefile_map *map)
{
	struct mlgen_err err = { 0 };

	memset(map, 0, sizeof(*map));
	if (words.end == 0)
		return NULL;
	MUST(namefile_flush(&words, &err) == 0);
	MUST(namefile_map(&words, 0, map, &err) == 0);
	return (const void *)map->bytes;
}

/* Every sample lies in the file. */
static void check_ranges(const struct format *f, const struct file_shape *shape)
{
	for (uint64_t i = 0; i < shape->samples && i < SAMPLES_MAX; i++) {
		uint64_t off, len;

		format_sample_range(f, shape, i, 1, &off, &len);
		MUST(off <= shape->scanned_bytes);
		MUST(len <= shape->scanned_bytes - off);
	}
}

/* A plan of a framework that opens the file for each sample ends, and reads nothing behind the
 * file's end but for one read that gets nothing. libhdf5 takes what is there for zeros, and goes
 * on; such reads are played as it makes them. */
static void check_plan(const struct format *f, const struct file_shape *shape)
{
	static struct dataset ds = { .parts = 1, .files = 1 };
	const struct plan_config config = { .dataset = &ds, .access = ACCESS_FRAMEWORK };
	const struct extent x = { .samples = 1 };
	struct plan_op op = { 0 };
	struct plan p = { .config = &config,
			  .kind = f->framework[0],
			  .extent = x,
			  .shape = *shape,
			  .file_bytes = shape->scanned_bytes };
	uint64_t end = f == &format_hdf5 ? INT64_MAX : shape->scanned_bytes;
	unsigned n = 0;

	ds.format = f;
	p.kind->init(&p, shape, &x);
	for (; n < OPS_MAX && p.kind->next(&p, &op); n++) {
		if (op.op == MLGEN_READ)
			MUST(op.off <= end && op.len_bytes);
		memset(&op, 0, sizeof(op));
	}
	MUST(n < OPS_MAX);
}

static bool opens_each(const struct format *f)
{
	return f == &format_npz || f == &format_npy || f == &format_png || f == &format_csv ||
	       f == &format_hdf5;
}

static void look_as(const struct format *f, size_t size)
{
	struct format_options options = { 0 };
	struct mlgen_err err = { 0 };
	struct namefile_map map;
	struct look l;
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	MUST(look_init(&l, &words, &err) == 0);
	l.options = &options;
	words.end = words.buffered = 0;
	MUST(look_open(&l, -1, path, path, size) == 0);
	r = f->look(&l);
	look_close(&l);
	MUST(r == 0 || (r < 0 && err.code == r && *err.text));
	if (r == 0 && l.samples) {
		struct file_shape shape = { .samples = l.samples,
					    .facts = l.facts,
					    .scanned_bytes = size };

		shape.words = words_of(&map);
		check_ranges(f, &shape);
		if (opens_each(f))
			check_plan(f, &shape);
		if (map.bytes)
			namefile_unmap(&map);
	}
	look_fini(&l);
}

/* What look_as looks at. */
static void put_file(const uint8_t *data, size_t size)
{
	if (file < 0)
		set_up();
	MUST(ftruncate(file, 0) == 0);
	MUST(pwrite(file, data, size, 0) == (ssize_t)size);
}
