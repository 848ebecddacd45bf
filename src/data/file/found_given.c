/* SPDX-License-Identifier: Apache-2.0 */
/* found_given.c - what one process of a job has found in files is known to another; see file.h. */
#include "base/mem.h"
#include "base/util.h"
#include "data/file/file_internal.h"
#include "hosts/relay.h"

struct given_head {
	uint64_t files, each, most;
	uint64_t read_bytes, kept_files, packed_most;
	double seconds;
	unsigned word_files;
	uint64_t word_bytes[FOUND_THREADS];
};

static int put_entry(const struct found *f, uint64_t file, struct relay *to, struct mlgen_err *err)
{
	struct entry e = f->entries[file];
	uint64_t *extents = &e.facts[f->extents_fact];

	/* Of each how many it has, again. */
	if (f->counts_extents && file == f->files)
		*extents = 0;
	else if (f->counts_extents)
		*extents = found_first_extent(f, file + 1) - *extents;
	return relay_put(to, &e, sizeof(e), err);
}

int found_give(const struct found *f, struct relay *to, struct mlgen_err *err)
{
	struct given_head head = { .files = f->files,
				   .each = f->each,
				   .most = f->most,
				   .read_bytes = f->read_bytes,
				   .kept_files = f->kept_files,
				   .packed_most = f->packed_most,
				   .seconds = f->seconds,
				   .word_files = f->word_files };

	for (unsigned i = 0; i < f->word_files; i++)
		head.word_bytes[i] = f->words[i].end;
	int rc = relay_put(to, &head, sizeof(head), err);
	for (uint64_t i = 0; i <= f->files && rc == 0; i++)
		rc = put_entry(f, i, to, err);
	for (unsigned i = 0; i < f->word_files && rc == 0; i++)
		rc = relay_put(to, f->maps[i].bytes, (size_t)f->words[i].end, err);
	return rc;
}

static int take_words(struct found *f, unsigned i, uint64_t bytes, struct relay *from,
		      struct mlgen_err *err)
{
	char some[4096];
	int rc = 0;

	while (bytes && rc == 0) {
		size_t n = (size_t)u64_min(bytes, sizeof(some));

		rc = relay_get(from, some, n, err);
		if (rc == 0)
			rc = namefile_add(&f->words[i], some, n, err);
		bytes -= n;
	}
	return rc;
}

static int take_all(struct found *f, const char *beside, struct relay *from, struct mlgen_err *err)
{
	struct given_head head;
	int rc = relay_get(from, &head, sizeof(head), err);

	if (rc)
		return rc;
	f->files = head.files;
	f->each = head.each;
	f->most = head.most;
	f->read_bytes = head.read_bytes;
	f->kept_files = head.kept_files;
	f->packed_most = head.packed_most;
	f->seconds = head.seconds;
	f->entries = mem_array((size_t)f->files + 1, sizeof(*f->entries));
	rc = relay_get(from, f->entries, ((size_t)f->files + 1) * sizeof(*f->entries), err);
	while (f->word_files < head.word_files && rc == 0) {
		rc = namefile_open(&f->words[f->word_files], beside, err);
		if (rc == 0)
			rc = take_words(f, f->word_files, head.word_bytes[f->word_files], from,
					err);
		f->word_files++;
	}
	return rc ? rc : found_map_words(f, err);
}

int found_take(struct found **out, const char *beside, struct relay *from, struct mlgen_err *err)
{
	struct found *f = mem_zalloc(sizeof(*f));
	int rc = take_all(f, beside, from, err);

	if (rc) {
		found_free(f);
		return rc;
	}
	*out = f;
	return 0;
}
