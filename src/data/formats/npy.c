/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - format=npy: one NumPy array of all samples, and if wanted one of their labels. */
#include "data/formats/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "data/formats/formats_internal.h"

enum { SAMPLES, LABELS, PARTS }; /* file_shape.part */

/* What all files of a dataset with labels have in common. */
struct labels {
	uint64_t size_bytes; /* of one */
};

static uint64_t element_bytes(const struct file_shape *shape)
{
	const struct labels *labels = shape->common;

	return shape->part == LABELS ? labels->size_bytes : format_sample_bytes(shape);
}

/* What is put down of an array that is there, and of its twin. */
enum { DATA_OFF, ROW_BYTES, ARRAY };
enum { TWIN = ARRAY, TWIN_FILE_BYTES = 2 * ARRAY };

static const uint64_t *array_facts(const struct file_shape *shape)
{
	return shape->facts + (shape->part == LABELS ? TWIN : 0);
}

static uint64_t npy_file_bytes(const struct file_shape *shape)
{
	if (shape->facts && shape->part == LABELS)
		return shape->facts[TWIN_FILE_BYTES];
	return NPY_HEADER_BYTES + shape->samples * element_bytes(shape);
}

static void npy_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	*off = NPY_HEADER_BYTES + first * element_bytes(shape);
	*len = n * element_bytes(shape);
}

static void labels_header(uint8_t out[NPY_HEADER_BYTES], const struct file_shape *s)
{
	char shape[48];

	snprintf(shape, sizeof(shape), "%" PRIu64 ", %" PRIu64, s->samples, element_bytes(s));
	npy_header(out, "|u1", shape);
}

static bool npy_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	uint64_t left = npy_file_bytes(&w->shape) - w->pos;
	uint8_t *to = buf;
	size_t head = 0;

	if (left == 0)
		return false;
	*off = w->pos;
	*len = left < bytes ? (size_t)left : bytes;
	if (w->pos == 0) {
		head = NPY_HEADER_BYTES;
		if (w->shape.part == LABELS)
			labels_header(to, &w->shape);
		else
			npy_samples_header(to, &w->shape);
	}
	format_content(to + head, *len - head, w->seed_index, w->pos + head - NPY_HEADER_BYTES);
	w->pos += *len;
	return true;
}

static int npy_init(struct dataset *ds, struct mlgen_err *err)
{
	struct labels *labels;

	(void)err;
	if (ds->options.label_size_bytes == 0)
		return 0;
	labels = mem_zalloc(sizeof(*labels));
	labels->size_bytes = ds->options.label_size_bytes;
	ds->common = labels;
	ds->parts = PARTS;
	return 0;
}

static void npy_fini(struct dataset *ds)
{
	mem_free(ds->common);
	ds->common = NULL;
}

static int npy_look(struct look *l)
{
	bool has_twin = l->options && l->options->scan_pair;
	struct npy_array a, twin;
	int r = npy_array_look(l, 0, &a);

	if (r || a.samples == 0)
		return r;
	twin = a;
	r = has_twin ? npy_twin_look(l, &twin) : 0;
	if (r)
		return r;
	l->samples = a.samples;
	l->sample_bytes = a.data_bytes + (has_twin ? twin.data_bytes : 0);
	l->facts[DATA_OFF] = a.data_off;
	l->facts[ROW_BYTES] = a.data_bytes / a.samples;
	l->facts[TWIN + DATA_OFF] = twin.data_off;
	l->facts[TWIN + ROW_BYTES] = twin.data_bytes / a.samples;
	l->facts[TWIN_FILE_BYTES] = twin.file_bytes;
	return 0;
}

static void npy_found_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			    uint64_t *off, uint64_t *len)
{
	const uint64_t *facts = array_facts(shape);

	*off = facts[DATA_OFF] + first * facts[ROW_BYTES];
	*len = n * facts[ROW_BYTES];
}

const struct format format_npy = {
	.name = "npy",
	.init = npy_init,
	.fini = npy_fini,
	.parts = { [LABELS] = { .suffix = "label.npy" } },
	.magic = "\x93NUMPY",
	.magic_bytes = 6,
	.file_bytes = npy_file_bytes,
	.sample_range = npy_sample_range,
	.write_next = npy_write_next,
	.framework = { &plan_npy, &plan_npy_direct },
	.reader = "NumPy",
	.is_array = true,
	.look = npy_look,
	.found_range = npy_found_range,
};

uint64_t npy_data_off(const struct file_shape *s)
{
	return s->facts ? array_facts(s)[DATA_OFF] : NPY_HEADER_BYTES;
}

uint64_t npy_data_bytes(const struct file_shape *s)
{
	return s->samples * (s->facts ? array_facts(s)[ROW_BYTES] : element_bytes(s));
}

void npy_header(uint8_t out[NPY_HEADER_BYTES], const char *descr, const char *shape)
{
	char text[NPY_HEADER_BYTES];
	int n = snprintf(text, sizeof(text),
			 "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);

	memset(out, ' ', NPY_HEADER_BYTES);
	memcpy(out, "\x93NUMPY\1\0\x76\0", 10); /* 0x76 = 128 - 10 */
	memcpy(out + 10, text, (size_t)n);
	out[NPY_HEADER_BYTES - 1] = '\n';
}

void npy_samples_header(uint8_t out[NPY_HEADER_BYTES], const struct file_shape *s)
{
	char shape[72];

	if (s->two_sides)
		snprintf(shape, sizeof(shape), "%" PRIu64 ", %" PRIu64 ", %" PRIu64, s->samples,
			 s->sides[0], s->sides[1]);
	else
		snprintf(shape, sizeof(shape), "%" PRIu64 ", %" PRIu64, s->samples,
			 format_sample_bytes(s));
	npy_header(out, "|u1", shape);
}
