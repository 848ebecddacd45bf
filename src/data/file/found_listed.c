/* SPDX-License-Identifier: Apache-2.0 */
/* found_listed.c - what a list says of its samples, in place of what is found in files. */
#include "base/mem.h"
#include "data/file/file_internal.h"
#include "data/scan/scan.h"

static int take_listed(struct found *f, const struct scan *scan, struct listed *listed,
		       struct mlgen_err *err)
{
	struct listed_count *counts = mem_array((size_t)f->files, sizeof(*counts));
	uint64_t words = 0;
	int r = listed_group(listed, scan, counts, &f->words[0], err);

	for (uint64_t i = 0; i < f->files; i++) {
		f->entries[i].first_sample = counts[i].samples;
		f->entries[i].sample_bytes = counts[i].bytes;
		f->entries[i].words = words;
		words += 2 * sizeof(uint64_t) * counts[i].samples;
	}
	mem_free(counts);
	found_sum_up(f);
	return r ? r : found_map_words(f, err);
}

int found_new_listed(struct found **out, struct scan *scan, struct mlgen_err *err)
{
	struct listed *listed = scan_take_listed(scan);
	struct found *f = found_of(scan);
	int r = namefile_open(&f->words[0], scan_place(scan), err);

	f->word_files = 1;
	if (r == 0)
		r = take_listed(f, scan, listed, err);
	listed_free(listed);
	if (r) {
		found_free(f);
		return r;
	}
	*out = f;
	return 0;
}
