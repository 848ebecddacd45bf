/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5.c - format=hdf5: one contiguous dataset `records`, as h5py writes it by default. */
#include "data/file/file.h"

#include <string.h>

#include "base/mem.h"
#include "config.h"
#include "data/formats/hdf5/hdf5.h"

#ifdef HAVE_HDF5

/*
 * Metadata, then the samples to the file's end. DLIO has its files in the newest layout and a
 * second dataset with labels, that training does not read; here it is the one dataset in the layout
 * that h5py chooses when it is not told, because that is what was seen being read.
 */
static int hdf5_init(struct dataset *ds, struct mlgen_err *err)
{
	unsigned rank = ds->sample_size.kind == DIST_DLIO ? 3 : 2;

	ds->common = mem_zalloc(sizeof(struct hdf5_image));
	return hdf5_image_init(ds->common, rank, err);
}

static void hdf5_fini(struct dataset *ds)
{
	mem_free(ds->common);
}

static uint64_t head_bytes(const struct file_shape *shape)
{
	return ((const struct hdf5_image *)shape->common)->head_bytes;
}

static uint64_t hdf5_file_bytes(const struct file_shape *shape)
{
	return head_bytes(shape) + shape->samples * format_sample_bytes(shape);
}

static void hdf5_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	*off = head_bytes(shape) + first * format_sample_bytes(shape);
	*len = n * format_sample_bytes(shape);
}

static size_t fill_head(const struct file_shape *shape, uint8_t *to)
{
	const uint64_t both[] = { shape->samples, shape->sides[0], shape->sides[1] };
	const uint64_t flat[] = { shape->samples, format_sample_bytes(shape) };

	hdf5_image_fill(shape->common, shape->two_sides ? both : flat, to);
	return (size_t)head_bytes(shape);
}

static bool hdf5_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			    size_t *len)
{
	uint64_t left = hdf5_file_bytes(&w->shape) - w->pos;
	size_t head = 0;

	if (left == 0)
		return false;
	if (w->pos == 0)
		head = fill_head(&w->shape, buf);
	*off = w->pos;
	*len = left < bytes ? (size_t)left : bytes;
	w->pos += *len;
	format_content((uint8_t *)buf + head, *len - head, w->seed_index,
		       *off + head - head_bytes(&w->shape));
	return true;
}

const struct format format_hdf5 = {
	.name = "hdf5",
	.init = hdf5_init,
	.fini = hdf5_fini,
	.magic = "\x89HDF\r\n\x1a\n",
	.magic_bytes = 8,
	.file_bytes = hdf5_file_bytes,
	.sample_range = hdf5_sample_range,
	.write_next = hdf5_write_next,
	/* There is no O_DIRECT in h5py. */
	.framework = { &plan_hdf5, NULL },
	.reader = "h5py",
	.is_array = true,
	.look = hdf5_look,
	.found_range = hdf5_found_range,
};

#else

const struct format format_hdf5 = {
	.name = "hdf5",
	.needs = "hdf5 (" PACKAGES_HDF5 ")",
};

#endif
