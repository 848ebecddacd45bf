/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_source.c - a file as libhdf5 sees it, whose bytes come from a function that takes notes. */
#include "config.h"

#ifdef HAVE_HDF5

#include "data/formats/hdf5/hdf5_internal.h"

#include <stdio.h>
#include <string.h>

/* libhdf5 has only the property list to hand things to a driver. */
struct source_info {
	const struct hdf5_library *h5;
	struct hdf5_source *source;
};

/* The callback below has no other way to libhdf5. One thread at a time. */
static const struct hdf5_library *library;

/* A file that another one links to has another name, or is a second one. */
static H5FD_t *source_open(const char *name, unsigned flags, hid_t access, haddr_t max)
{
	const struct source_info *info = library->Pget_driver_info(access);

	(void)flags;
	(void)max;
	if (!info || info->source->is_open || strcmp(name, HDF5_NO_FILE) != 0)
		return NULL;
	info->source->is_open = true;
	return &info->source->pub;
}

static herr_t source_close(H5FD_t *file)
{
	((struct hdf5_source *)file)->is_open = false;
	return 0;
}

/* As of files, but for metadata that are accumulated: only those that are written ever are, and of
 * a damaged file that has an undefined address libhdf5 would copy what is accumulated there, from
 * NULL. */
static herr_t source_query(const H5FD_t *file, unsigned long *flags)
{
	(void)file;
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DATA_SIEVE |
		 H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_SUPPORTS_SWMR_IO |
		 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t source_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct hdf5_source *)file)->end_of_allocation;
}

static herr_t source_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t end)
{
	(void)type;
	((struct hdf5_source *)file)->end_of_allocation = end;
	return 0;
}

static haddr_t source_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	(void)type;
	return ((const struct hdf5_source *)file)->end_of_file;
}

static herr_t source_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t off, size_t bytes,
			  void *to)
{
	struct hdf5_source *s = (struct hdf5_source *)file;

	(void)transfer;
	return s->read(s->arg, type == H5FD_MEM_DRAW, off, bytes, to) ? 0 : -1;
}

static herr_t source_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t off, size_t bytes,
			   const void *from)
{
	(void)file;
	(void)type;
	(void)transfer;
	(void)off;
	(void)bytes;
	(void)from;
	return -1;
}

static const H5FD_class_t source_class = {
#if H5_VERSION_GE(1, 14, 0)
	.version = H5FD_CLASS_VERSION,
	.value = (H5FD_class_value_t)499, /* up to 255: libhdf5's own */
#endif
	.name = "source",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_WEAK,
	.fapl_size = sizeof(struct source_info),
	.open = source_open,
	.close = source_close,
	.query = source_query,
	.get_eoa = source_get_eoa,
	.set_eoa = source_set_eoa,
	.get_eof = source_get_eof,
	.read = source_read,
	.write = source_write,
};

struct why {
	char *text;
	size_t size;
};

/* What the innermost function says. */
static herr_t source_see(unsigned n, const H5E_error2_t *e, void *arg)
{
	const struct why *why = arg;

	if (n == 0 && e->desc)
		snprintf(why->text, why->size, "%s", e->desc);
	return 0;
}

void hdf5_source_why(const struct hdf5_library *h5, char *text, size_t size)
{
	struct why why = { text, size };

	*text = '\0';
	h5->Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, source_see, &why);
}

hid_t hdf5_source_open(const struct hdf5_library *h5, struct hdf5_source *source)
{
	const struct source_info info = { h5, source };
	hid_t driver = h5->FDregister(&source_class);
	hid_t access = h5->Pcreate(*h5->P_CLS_FILE_ACCESS_ID);
	hid_t file = H5I_INVALID_HID;

	library = h5;
	source->end_of_allocation = 0;
	if (driver >= 0 && access >= 0 && h5->Pset_driver(access, driver, &info) >= 0 &&
	    h5->Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
		file = h5->Fopen(HDF5_NO_FILE, H5F_ACC_RDONLY, access);
	/* The next call forgets it. */
	if (file < 0)
		hdf5_source_why(h5, source->why, sizeof(source->why));
	if (access >= 0)
		h5->Pclose(access);
	if (driver >= 0)
		h5->FDunregister(driver);
	return file;
}

bool hdf5_source_sizes(const struct hdf5_library *h5, size_t *sieve_bytes, size_t *cache_bytes)
{
	hid_t access = h5->Pcreate(*h5->P_CLS_FILE_ACCESS_ID);
	size_t slots;
	double preemption;
	int objects;
	bool ok = access >= 0 && h5->Pget_sieve_buf_size(access, sieve_bytes) >= 0 &&
		  h5->Pget_cache(access, &objects, &slots, cache_bytes, &preemption) >= 0;

	if (access >= 0)
		h5->Pclose(access);
	return ok;
}

#endif
