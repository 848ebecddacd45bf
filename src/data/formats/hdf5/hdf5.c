/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5.c - format=hdf5: one contiguous dataset `records`, as h5py writes it by default. */

#include <string.h>

#include "base/mem.h"
#include "config.h"
#include "data/file/file.h"

#ifdef HAVE_HDF5

#include "data/formats/hdf5/hdf5_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

/* ---- the metadata that libhdf5 writes, and its reads of them ---- */

/* Loaded by hdf5_image_init(). */
static const struct hdf5_library *h5;

/*
 * The numbers that depend on the shape: each side, then the bytes of all samples and the end of the
 * file. Each has 8 bytes, little-endian (HDF5 file format, "sizes of lengths and offsets").
 */
enum { PAYLOAD, END, NUMBERS };

struct numbers {
	unsigned count;
	uint64_t values[HDF5_RANK_MAX + NUMBERS];
};

/*
 * Sides that differ from every other number of the metadata, so that they can be found. The payload
 * is at least 2048 bytes: libhdf5 reserves this much for small datasets, and returns the rest only
 * when the file is closed.
 */
static const uint64_t marks[HDF5_RANK_MAX] = { 1009, 113, 11 };
/* Sides of a second file, to check the places of the numbers. */
static const uint64_t check_sides[HDF5_RANK_MAX] = { 23, 1571, 3 };

static uint64_t payload_of(unsigned rank, const uint64_t *sides)
{
	uint64_t bytes = 1;

	assert(rank <= HDF5_RANK_MAX);
	for (unsigned i = 0; i < rank; i++)
		bytes *= sides[i];
	return bytes;
}

static void numbers_of(struct numbers *n, const struct hdf5_image *im, const uint64_t *sides)
{
	uint64_t payload = payload_of(im->rank, sides);

	memcpy(n->values, sides, im->rank * sizeof(*sides));
	n->values[im->rank + PAYLOAD] = payload;
	n->values[im->rank + END] = im->head_bytes + payload;
	n->count = im->rank + NUMBERS;
}

static bool write_a_byte(hid_t dataset, hid_t space)
{
	static const hsize_t first[HDF5_RANK_MAX] = { 0 };
	const uint8_t byte = 0;
	hid_t one = h5->Screate(H5S_SCALAR);
	bool ok = one >= 0 && h5->Sselect_elements(space, H5S_SELECT_SET, 1, first) >= 0 &&
		  h5->Dwrite(dataset, *h5->T_NATIVE_UINT8, one, space, H5P_DEFAULT, &byte) >= 0;

	if (one >= 0)
		h5->Sclose(one);
	return ok;
}

/*
 * Create a file in memory with the oldest layout, which is the default of h5py and of libhdf5 up to
 * 1.14, and which all versions read. Its name must be impossible, because libhdf5 first tries to
 * open a file of that name for reading and writing.
 */
static hid_t create_file(void)
{
	hid_t file = H5I_INVALID_HID;
	hid_t access = h5->Pcreate(*h5->P_CLS_FILE_ACCESS_ID);

	if (access < 0)
		return file;
	if (h5->Pset_fapl_core(access, 65536, 0) >= 0 &&
	    h5->Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) >= 0)
		file = h5->Fcreate(HDF5_NO_FILE, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	h5->Pclose(access);
	return file;
}

/* Copy the bytes before the samples to `head`. Returns their number; 0 = error. */
static unsigned read_head(hid_t file, haddr_t place, uint64_t payload, uint8_t *head)
{
	size_t bytes = (size_t)(place + payload);

	if (place > HDF5_IMAGE_MAX || h5->Fflush(file, H5F_SCOPE_GLOBAL) < 0)
		return 0;
	uint8_t *all = mem_zalloc(bytes);
	/* If the samples do not come last, the sizes differ. */
	ssize_t got = h5->Fget_file_image(file, all, bytes);
	if (got == (ssize_t)bytes)
		memcpy(head, all, (size_t)place);
	mem_free(all);
	return got == (ssize_t)bytes ? (unsigned)place : 0;
}

static unsigned make_head(unsigned rank, const uint64_t *sides, uint8_t *head)
{
	hid_t file = create_file();
	unsigned bytes = 0;

	if (file < 0)
		return 0;

	/* Add the dataset. libhdf5 allocates the place of its samples when the first byte is
	 * written. */
	haddr_t place = HADDR_UNDEF;
	hid_t space, dataset = H5I_INVALID_HID;
	hsize_t dims[HDF5_RANK_MAX];

	for (unsigned i = 0; i < HDF5_RANK_MAX; i++)
		dims[i] = sides[i];
	space = h5->Screate_simple((int)rank, dims, NULL);
	/* Files must not differ by their creation time. h5py does not track it either. */
	hid_t plist = h5->Pcreate(*h5->P_CLS_DATASET_CREATE_ID);
	if (space >= 0 && plist >= 0 && h5->Pset_obj_track_times(plist, 0) >= 0)
		dataset = h5->Dcreate2(file, "records", *h5->T_STD_U8LE, space, H5P_DEFAULT, plist,
				       H5P_DEFAULT);
	if (dataset >= 0 && write_a_byte(dataset, space))
		place = h5->Dget_offset(dataset);
	if (dataset >= 0)
		h5->Dclose(dataset);
	if (plist >= 0)
		h5->Pclose(plist);
	if (space >= 0)
		h5->Sclose(space);

	if (place != HADDR_UNDEF)
		bytes = read_head(file, place, payload_of(rank, sides), head);
	h5->Fclose(file);
	return bytes;
}

static bool find_places(struct hdf5_image *im)
{
	struct numbers n;

	numbers_of(&n, im, marks);
	for (unsigned off = 0; off + 8 <= im->head_bytes; off++) {
		uint64_t v = look_le(im->head + off, 8);

		for (unsigned i = 0; i < n.count; i++) {
			if (n.values[i] != v)
				continue;
			if (im->place_count == HDF5_PLACES_MAX)
				return false;
			im->places[im->place_count++] = (struct hdf5_place){ off, i };
		}
	}
	return true;
}

/* Does the image of another shape equal the file that libhdf5 makes? */
static bool is_right(const struct hdf5_image *im)
{
	uint8_t *theirs = mem_zalloc((size_t)2 * HDF5_IMAGE_MAX);
	uint8_t *mine = theirs + HDF5_IMAGE_MAX;
	bool same = make_head(im->rank, check_sides, theirs) == im->head_bytes;

	hdf5_image_fill(im, check_sides, mine);
	same = same && memcmp(theirs, mine, im->head_bytes) == 0;
	mem_free(theirs);
	return same;
}

/* A source that records reads. Its metadata are in memory; the rest of the file is missing. */
struct recorder {
	struct hdf5_source source;
	struct hdf5_image *image;
	uint8_t head[HDF5_IMAGE_MAX];
};

/* A read that reaches into the samples is an error: it would depend on the size of the file. */
static bool recorder_read(void *arg, bool is_sample, uint64_t off, uint64_t bytes, void *to)
{
	struct recorder *r = arg;
	struct hdf5_image *im = r->image;

	(void)is_sample;
	if (off > im->head_bytes || bytes > im->head_bytes - off ||
	    im->read_count == HDF5_READS_MAX)
		return false;
	im->reads[im->read_count++] = (struct hdf5_read){ (unsigned)off, (unsigned)bytes };
	memcpy(to, r->head + off, bytes);
	return true;
}

/* Do as h5py does: open f['records'], then get the type and the shape of the dataset. */
static bool hdf5_image_record(struct recorder *r)
{
	hid_t dataset = H5I_INVALID_HID, space = H5I_INVALID_HID;
	hid_t file = hdf5_source_open(h5, &r->source);

	r->image->root_count = r->image->read_count;
	if (file >= 0)
		dataset = h5->Oopen(file, "records", H5P_DEFAULT);
	if (dataset >= 0)
		space = h5->Dget_space(dataset);
	if (space >= 0)
		h5->Sclose(space);
	if (dataset >= 0)
		h5->Oclose(dataset);
	if (file >= 0)
		h5->Fclose(file);
	return space >= 0;
}

/* Let libhdf5 write and open files to find their layout; head_bytes stays 0 if this fails. */
static int learn_layout(struct hdf5_image *im, unsigned rank, struct mlgen_err *err)
{
	unsigned v[3] = { 0 };

	*im = (struct hdf5_image){ .rank = rank };
	im->head_bytes = make_head(rank, marks, im->head);
	if (im->head_bytes && find_places(im) && is_right(im) &&
	    hdf5_image_record_reads(im, marks) == 0)
		return 0;
	im->head_bytes = 0;
	h5->get_libversion(&v[0], &v[1], &v[2]);
	return mlgen_fail(err, -EINVAL,
			  "format: hdf5: libhdf5 %u.%u.%u lays out files in a way that mlgen does "
			  "not know; mlgen knows versions 1.10 to 1.14",
			  v[0], v[1], v[2]);
}

int hdf5_image_init(struct hdf5_image *im, unsigned rank, struct mlgen_err *err)
{
	static struct hdf5_image layouts[HDF5_RANK_MAX + 1];
	int rc = 0;

	assert(rank <= HDF5_RANK_MAX);
	h5 = hdf5_library(err);
	if (!h5)
		return -ENOENT;
	if (layouts[rank].head_bytes == 0)
		rc = learn_layout(&layouts[rank], rank, err);
	*im = layouts[rank];
	return rc;
}

void hdf5_image_fill(const struct hdf5_image *im, const uint64_t *sides, uint8_t *to)
{
	struct numbers n;

	numbers_of(&n, im, sides);
	memcpy(to, im->head, im->head_bytes);
	for (unsigned i = 0; i < im->place_count; i++) {
		uint8_t *at = to + im->places[i].off;
		uint64_t v = n.values[im->places[i].number];

		for (unsigned k = 0; k < 8; k++, v >>= 8)
			at[k] = (uint8_t)v;
	}
}

int hdf5_image_record_reads(struct hdf5_image *im, const uint64_t *sides)
{
	struct recorder *r = mem_zalloc(sizeof(*r));
	size_t sieve = 0, cache;

	im->read_count = 0;
	r->image = im;
	r->source.read = recorder_read;
	r->source.arg = r;
	r->source.end_of_file = im->head_bytes + payload_of(im->rank, sides);
	hdf5_image_fill(im, sides, r->head);
	bool ok = hdf5_source_sizes(h5, &sieve, &cache) && hdf5_image_record(r);
	im->sieve_bytes = sieve;
	mem_free(r);
	return ok ? 0 : -EINVAL;
}

/* ---- the format ---- */

/*
 * A file is metadata and then samples. DLIO's files have the newest layout and a second dataset
 * with labels, which training does not read. mlgen writes only the one dataset, in h5py's default
 * layout, because those are the files whose reads were observed.
 */
static int hdf5_init(struct dataset *ds, struct mlgen_err *err)
{
	ds->common = mem_zalloc(sizeof(struct hdf5_image));
	return hdf5_image_init(ds->common, ds->sample_size.kind == DIST_DLIO ? 3 : 2, err);
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

static bool hdf5_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			    size_t *len)
{
	const struct file_shape *shape = &w->shape;
	const uint64_t both[] = { shape->samples, shape->sides[0], shape->sides[1] };
	const uint64_t flat[] = { shape->samples, format_sample_bytes(shape), 1 };
	uint64_t left = hdf5_file_bytes(shape) - w->pos;
	size_t head = 0;

	if (left == 0)
		return false;
	if (w->pos == 0) {
		hdf5_image_fill(shape->common, shape->two_sides ? both : flat, buf);
		head = (size_t)head_bytes(shape);
	}
	*off = w->pos;
	*len = left < bytes ? (size_t)left : bytes;
	w->pos += *len;
	format_content((uint8_t *)buf + head, *len - head, w->seed_index,
		       *off + head - head_bytes(shape));
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
	/* h5py does not use O_DIRECT. */
	.framework = { &plan_hdf5, NULL },
	.reader = "h5py",
	.is_array = true,
	.look = hdf5_look,
	.scanned_range = hdf5_index_range,
};

#else

const struct format format_hdf5 = {
	.name = "hdf5",
	.needs = "hdf5 (" PACKAGES_HDF5 ")",
};

#endif
