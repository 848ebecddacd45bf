/* SPDX-License-Identifier: Apache-2.0 */
/* peek.c - a look into one file of a trace. */
#include "distil/peek.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "data/formats/parquet/parquet.h"
#include "data/scan/scan.h"

/* Of a footer with more columns only the first are taken. */
enum { CHUNKS_MOST = 4096 };

static enum job_format format_number(const struct format *f)
{
	enum job_format i = FORMAT_NPZ;

	while (i < FORMAT_AUTO && format_of(i) != f)
		i++;
	return i;
}

/* Words of its first row group: rows, then two a chunk. */
static void take_chunks(struct peek *p, const struct look *l)
{
	uint64_t at = l->words_at + sizeof(uint64_t), words[2];
	uint64_t count = l->facts[PARQUET_CHUNKS];

	p->group_rows = l->facts[PARQUET_GROUP_ROWS];
	if (count > CHUNKS_MOST)
		return;
	p->chunk = mem_array(count + 1, sizeof(*p->chunk));
	for (uint64_t i = 0; i < count; i++, at += sizeof(words)) {
		if (pread(l->words->fd, words, sizeof(words), (off_t)at) != (ssize_t)sizeof(words))
			return;
		p->chunk[p->chunks++] = (struct peek_chunk){ words[0], parquet_chunk_bytes(words) };
	}
}

static void look_inside(struct peek *p, const struct format *f, const char *path,
			uint64_t file_bytes)
{
	const struct format_options options = { 0 };
	struct mlgen_err ignored = { 0 };
	struct namefile words;
	struct look l;

	if (namefile_open(&words, NULL, &ignored) < 0)
		return;
	if (look_init(&l, &words, &ignored) == 0 &&
	    look_open(&l, AT_FDCWD, path, path, file_bytes) == 0) {
		l.options = &options;
		if (f->look(&l) == 0 && namefile_flush(&words, &ignored) == 0) {
			p->samples = l.samples;
			p->payload_bytes = l.sample_bytes;
			if (f == &format_parquet)
				take_chunks(p, &l);
		}
	}
	look_fini(&l);
	namefile_close(&words);
}

void peek(struct peek *p, const char *path, uint64_t file_bytes)
{
	const char *by_name = detect_by_suffix(path);
	const struct format *f = NULL;
	struct stat st;

	*p = (struct peek){ .format = FORMAT_AUTO };
	p->is_there =
		stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == file_bytes;
	if (p->is_there)
		f = detect_file(path);
	p->by_content = f && !(by_name && strcmp(f->name, by_name) == 0 && !f->look);
	if (!f && by_name)
		f = format_find(by_name);
	if (!f)
		return;
	p->format = format_number(f);
	if (p->is_there && f->look)
		look_inside(p, f, path, file_bytes);
}

void peek_fini(struct peek *p)
{
	mem_free(p->chunk);
	*p = (struct peek){ 0 };
}
