/* SPDX-License-Identifier: Apache-2.0 */
/* distil_columns.c - read facts from a file of a trace, and find the columns of a Parquet file. */
#include "tracing/distil/data/data_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "data/formats/parquet/parquet.h"
#include "data/scan/scan.h"

/* The chunks of a footer with more column chunks are ignored. */
enum { CHUNKS_MOST = 4096 };

/* Read what the scan stored about the first row group: the number of rows, then two words for each
 * chunk. */
static void read_chunks(struct peek *p, const struct look *l)
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
	p->format = FORMAT_NPZ;
	while (p->format < FORMAT_AUTO && format_of(p->format) != f)
		p->format++;
	if (!p->is_there || !f->look)
		return;

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
				read_chunks(p, &l);
		}
	}
	look_fini(&l);
	namefile_close(&words);
}

void peek_fini(struct peek *p)
{
	mem_free(p->chunk);
	*p = (struct peek){ 0 };
}

#define FIRST_OFF 4 /* after the magic */

/* Parquet's writers make pages of about a MiB; the enum has the sizes of their headers in bytes. */
#define PAGE_BYTES (UINT64_C(1) << 20)
enum { HEAD_LEAST = 18, HEAD_USUAL = 22, HEAD_MOST = 28 };

/* The distance of the headers from their usual size, if each row has `width` bytes of the chunk;
 * UINT64_MAX = headers cannot have that size. */
static uint64_t header_error(const struct peek *p, uint64_t bytes, uint64_t width)
{
	uint64_t a_page = u64_max(PAGE_BYTES / width, 1);
	uint64_t pages = divide_up(p->group_rows, a_page);
	uint64_t heads = bytes - width * p->group_rows;
	uint64_t usual = pages * HEAD_USUAL;

	if (heads < pages * HEAD_LEAST || heads > pages * HEAD_MOST)
		return UINT64_MAX;
	return heads > usual ? heads - usual : usual - heads;
}

/* Bytes of a row in the column, preferably a multiple of four. Chunks that are compressed, or have
 * levels, fit no width exactly, and are divided evenly. */
static uint64_t width_of(const struct peek *p, uint32_t column)
{
	uint64_t bytes = p->chunk[column].bytes;
	uint64_t most = u64_max(bytes / p->group_rows, 1);
	uint64_t width[2] = { most, 0 }, best[2] = { UINT64_MAX, UINT64_MAX };

	for (uint64_t w = most; w > 0 && w + HEAD_MOST + 4 > most; w--) {
		uint64_t error = header_error(p, bytes, w);
		unsigned is_multiple = w % 4 == 0;

		if (error < best[is_multiple]) {
			best[is_multiple] = error;
			width[is_multiple] = w;
		}
	}
	return width[1] ? width[1] : width[0];
}

/* Mark the chunks that calls read. Row groups follow each other, and all are like the first. */
static uint32_t find_read(uint8_t *is_read, const struct peek *p,
			  const struct explain_visit *visits, unsigned count)
{
	struct explain_call *calls = mem_array(SPECIMEN_CALLS_MOST, sizeof(*calls));
	uint64_t group = 0;
	uint32_t read = 0;

	for (uint32_t i = 0; i < p->chunks; i++)
		group += p->chunk[i].bytes;
	for (unsigned v = 0; v < count; v++) {
		unsigned n = explain_calls_of(visits[v].specimen, calls, SPECIMEN_CALLS_MOST);

		for (unsigned k = 0; k < n; k++) {
			const struct explain_call *c = &calls[k];

			if (c->op != MLGEN_READ || c->off < FIRST_OFF || c->off == UINT64_MAX)
				continue;
			uint64_t off = (c->off - FIRST_OFF) % group + FIRST_OFF;
			for (uint32_t i = 0; i < p->chunks; i++)
				is_read[i] |=
					p->chunk[i].off == off && p->chunk[i].bytes == c->len_bytes;
		}
	}
	for (uint32_t i = 0; i < p->chunks; i++)
		read += is_read[i];
	mem_free(calls);
	return read;
}

/* Number of consecutive columns, from `first` on, with the same width. If is_read is given, number
 * of consecutive columns that are read. */
static uint32_t run_of(const struct peek *p, uint32_t first, const uint8_t *is_read)
{
	uint32_t end = first + 1;

	while (end < p->chunks && (is_read ? is_read[end] : width_of(p, end) == width_of(p, first)))
		end++;
	return end - first;
}

static void add_names(struct buf *to, const struct peek *p, uint32_t first, uint32_t count)
{
	int digits = snprintf(NULL, 0, "%" PRIu32, p->chunks - 1);

	buf_addf(to, "%sc%0*" PRIu32, to->len ? "," : "", digits, first);
	if (count > 1)
		buf_addf(to, "..%0*" PRIu32, digits, first + count - 1);
}

void columns_scanned(struct columns_scanned *c, const struct peek *p,
		     const struct explain_visit *visits, unsigned count)
{
	struct buf all = { 0 }, some = { 0 };

	*c = (struct columns_scanned){ .count = p->chunks };
	if (p->group_rows == 0 || p->chunks <= 1)
		return;
	uint8_t *is_read = mem_zalloc(p->chunks);
	c->read = find_read(is_read, p, visits, count);
	for (uint32_t i = 0, n; i < p->chunks; i += n) {
		n = run_of(p, i, NULL);
		add_names(&all, p, i, n);

		uint64_t width = width_of(p, i);
		if (width == 8)
			buf_add(&all, ":float64");
		else if (width == 4)
			buf_add(&all, ":float32");
		else if (width == 2)
			buf_add(&all, ":float16");
		else if (width % 4 == 0)
			buf_addf(&all, ":float32[%" PRIu64 "]", width / 4);
		else
			buf_addf(&all, ":int8[%" PRIu64 "]", width);

		c->row_bytes += n * width_of(p, i);
	}
	for (uint32_t i = 0, n; i < p->chunks; i += n) {
		n = is_read[i] ? run_of(p, i, is_read) : 1;
		if (is_read[i])
			add_names(&some, p, i, n);
	}
	c->columns = buf_detach(&all);
	if (c->read && c->read < p->chunks)
		c->read_columns = buf_detach(&some);
	buf_fini(&some);
	mem_free(is_read);
}

void columns_scanned_fini(struct columns_scanned *c)
{
	mem_free(c->columns);
	mem_free(c->read_columns);
	*c = (struct columns_scanned){ 0 };
}
