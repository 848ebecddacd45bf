/* SPDX-License-Identifier: Apache-2.0 */
/* plan_hdf5.c - h5py.File(file)['records'][k], call by call. */
#include "data/hdf5_image.h"
#include "data/plan.h"

/*
 * h5py opens the file for each sample, as DLIO does. What libhdf5 reads of the
 * metadata was learnt from libhdf5 (hdf5_image.h); it is the same for every
 * shape. It reads a sample in one call, but a small one through its sieve
 * buffer: as far as that and the dataset go, in case that the next is wanted,
 * too, which it never is, as the file is closed.
 *
 * The stat is that of the open file. libhdf5 has another one by name, lstat(2)
 * in search of a symbolic link, that the attribute cache answers; it stays out,
 * like flock(2).
 */
enum { STEP_OPEN, STEP_STAT, STEP_METADATA, STEPS_AROUND = 4 };

static void hdf5_init(struct plan *p, const struct file_shape *shape,
		      const struct extent *x)
{
	const struct hdf5_image *im = shape->common;
	uint64_t left, len;

	format_sample_range(p->config->dataset->format, shape, x->first_sample,
			    x->samples, &p->off, &len);
	left = p->file_bytes - p->off;
	if (len < im->sieve_bytes)
		len = left < im->sieve_bytes ? left : im->sieve_bytes;
	p->end = p->off + len;
}

static bool hdf5_next(struct plan *p, struct plan_op *op)
{
	const struct hdf5_image *im = p->shape.common;
	unsigned step = p->step++, reads = im->read_count;

	op->after = true;
	if (step == STEP_OPEN) {
		op->op = MLGEN_OPEN;
	} else if (step == STEP_STAT) {
		op->op = MLGEN_STAT;
	} else if (step < STEP_METADATA + reads) {
		op->op = MLGEN_READ;
		op->off = im->reads[step - STEP_METADATA].off;
		op->len_bytes = im->reads[step - STEP_METADATA].len_bytes;
	} else if (step == STEP_METADATA + reads) {
		op->op = MLGEN_READ;
		op->off = p->off;
		op->len_bytes = p->end - p->off;
	} else if (step < STEPS_AROUND + reads) {
		op->op = MLGEN_CLOSE;
	} else {
		p->step = step;
		return false;
	}
	return true;
}

static uint64_t hdf5_largest_read(const struct plan_config *config)
{
	(void)config;
	return UINT64_MAX;
}

const struct plan_kind plan_hdf5 = {
	.init = hdf5_init,
	.next = hdf5_next,
	.largest_read = hdf5_largest_read,
};
