/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_file.c - load libhdf5, and open and describe one HDF5 file of a scan with it. */
#include "config.h"

#ifdef HAVE_HDF5

#include "data/formats/hdf5/hdf5_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/vec.h"
#include "data/file/file.h"

/* ---- libhdf5 ---- */

/* Each member of struct hdf5_library is a pointer, to a function or an identifier. */
static const struct library_symbol symbols[] = {
#define HDF5_SYMBOL(name) { "H5" #name, offsetof(struct hdf5_library, name) },
	HDF5_FUNCTIONS(HDF5_SYMBOL)
#undef HDF5_SYMBOL
#define HDF5_SYMBOL(name) { "H5" #name "_g", offsetof(struct hdf5_library, name) },
		HDF5_IDS(HDF5_SYMBOL)
#undef HDF5_SYMBOL
};

const struct hdf5_library *hdf5_library(struct mlgen_err *err)
{
	static struct hdf5_library library;

	if (library.open)
		return &library;
	if (library_load("format=hdf5: libhdf5", HDF5_SONAME, symbols, ARRAY_LEN(symbols), &library,
			 err) < 0) {
		library.open = NULL;
		return NULL;
	}
	/* libhdf5 must neither run a handler at exit, in whichever thread that is, ... */
	library.dont_atexit();
	library.open();
	/* ... nor print to stderr. */
	library.Eset_auto2(H5E_DEFAULT, NULL, NULL);
	return &library;
}

/* ---- the virtual file driver ---- */

/* Argument of the driver, which libhdf5 passes in the property list. */
struct source_info {
	const struct hdf5_library *h5;
	struct hdf5_source *source;
};

/* libhdf5 for source_open(), which has no other way to get it. One thread at a time. */
static const struct hdf5_library *library;

/* Refuse files to which the file links: they have another name, or are the second to be opened. */
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

/* The features are those of the driver for files, except for the accumulation of metadata.
 * Accumulation only affects writes. With an undefined address in a damaged file, it would make
 * libhdf5 copy metadata from NULL. */
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
	.value = (H5FD_class_value_t)499, /* libhdf5 reserves values up to 255 */
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

struct error_text {
	char *text;
	size_t size;
};

/* Copy the description of the innermost function. */
static herr_t copy_description(unsigned n, const H5E_error2_t *e, void *arg)
{
	const struct error_text *to = arg;

	if (n == 0 && e->desc)
		snprintf(to->text, to->size, "%s", e->desc);
	return 0;
}

/* Write libhdf5's reason if the last call failed; "" = none. */
static void hdf5_source_why(const struct hdf5_library *h5, char *text, size_t size)
{
	struct error_text to = { text, size };

	*text = '\0';
	h5->Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, copy_description, &to);
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
	/* The next call clears the reason. */
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

/* ---- files ---- */

/* Nesting depth of groups, and number of objects, in a search for a dataset. */
#define DEPTH_MAX 16
#define OBJECTS_MAX 1000u
/* The most bytes beyond the end of a file that libhdf5 may read ahead as part of a header. Only
 * damaged files need more. */
#define ZEROS_MAX (UINT64_C(1) << 20)

int hdf5_file_failed(struct hdf5_file *f)
{
	char *text = f->source.why;

	if (f->has_failed)
		return f->look->err->code;
	if (!*text)
		hdf5_source_why(f->h5, text, sizeof(f->source.why));
	return look_fail(f->look, f->last_off, "libhdf5 cannot interpret the data here: %s",
			 *text ? text : "no reason given");
}

int hdf5_file_refuse(struct hdf5_file *f, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return mlgen_fail(f->look->err, -EINVAL, "%s: dataset '%s' %s", f->look->path, f->name,
			  text);
}

void hdf5_file_note(struct hdf5_file *f, struct hdf5_note note)
{
	vec_push(&f->notes, note);
}

/* Beyond the end of the file there are zeros, as with the driver for files. */
static bool file_read(void *arg, bool is_sample, uint64_t off, uint64_t bytes, void *to)
{
	struct hdf5_file *f = arg;
	uint64_t there = f->look->file_bytes;

	hdf5_file_note(f, (struct hdf5_note){ off, bytes, is_sample });
	/* libhdf5 also calls a global heap a sample, so samples are skipped only on request. */
	if (is_sample && f->ignores_samples)
		return true;
	f->last_off = off;
	there = off < there ? u64_min(bytes, there - off) : 0;
	if (bytes - there > ZEROS_MAX && !f->has_failed) {
		look_fail(f->look, off,
			  "%" PRIu64 " bytes should be here, which is after the end of the file",
			  bytes);
		f->has_failed = true;
	}
	if (f->has_failed)
		return false;
	memset((uint8_t *)to + there, 0, (size_t)(bytes - there));
	f->has_failed = look_copy(f->look, off, to, there) < 0;
	return !f->has_failed;
}

static int open_file(struct hdf5_file *f)
{
	f->source = (struct hdf5_source){ .read = file_read,
					  .arg = f,
					  .end_of_file = f->look->file_bytes };
	f->notes.count = 0;
	f->dataset = H5I_INVALID_HID;
	f->file = hdf5_source_open(f->h5, &f->source);
	f->notes.root = f->notes.count;
	return f->file < 0 ? hdf5_file_failed(f) : 0;
}

/* ---- the search for a dataset ---- */

struct dataset_search {
	struct hdf5_file *file;
	unsigned objects;           /* number of objects looked at so far */
	char flat[HDF5_PATH_MAX];   /* the first dataset of one dimension; "" = none */
	char closed[HDF5_PATH_MAX]; /* the first object that does not open; "" = none */
	char path[HDF5_PATH_MAX];
	bool is_done;
};

static int rank_of(const struct hdf5_library *h5, hid_t dataset)
{
	hid_t space = h5->Dget_space(dataset);
	int rank = space >= 0 ? h5->Sget_simple_extent_ndims(space) : -1;

	if (space >= 0)
		h5->Sclose(space);
	return rank;
}

/* Search a group by name, in libhdf5's order; `length` is that of the group's path. An object that
 * cannot be opened (a link into another file) is only chosen if there is no other: opening it again
 * then gives the reason. */
static void search_group(struct dataset_search *s, hid_t group, size_t length, unsigned depth)
{
	const struct hdf5_library *h5 = s->file->h5;
	size_t room = sizeof(s->path) - length;
	H5G_info_t info;

	if (h5->Gget_info(group, &info) < 0)
		return;
	for (hsize_t i = 0; i < info.nlinks && !s->is_done; i++) {
		ssize_t n = h5->Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i,
						 s->path + length, room, H5P_DEFAULT);
		size_t end = length + (size_t)n;

		if (s->file->has_failed || ++s->objects > OBJECTS_MAX)
			return;
		if (n <= 0 || (size_t)n >= room)
			continue;
		hid_t object = h5->Oopen(group, s->path + length, H5P_DEFAULT);
		if (object < 0 && !*s->closed)
			memcpy(s->closed, s->path, sizeof(s->path));
		if (object < 0)
			continue;
		H5I_type_t type = h5->Iget_type(object);
		int rank = type == H5I_DATASET ? rank_of(h5, object) : 0;
		if (rank > 1) {
			memcpy(s->file->name, s->path, sizeof(s->path));
			s->is_done = true;
		} else if (rank == 1 && !*s->flat) {
			memcpy(s->flat, s->path, sizeof(s->path));
		} else if (type == H5I_GROUP && depth < DEPTH_MAX && end + 1 < sizeof(s->path)) {
			s->path[end] = '/';
			search_group(s, object, end + 1, depth + 1);
		}
		h5->Oclose(object);
	}
}

/* Find the first dataset with two dimensions or more; one dimension suggests labels. */
static int find_first(struct hdf5_file *f)
{
	struct dataset_search *s = mem_zalloc(sizeof(*s));
	int r = 0;

	s->file = f;
	search_group(s, f->file, 0, 0);
	if (!s->is_done)
		memcpy(f->name, *s->flat ? s->flat : s->closed, sizeof(f->name));
	if (f->has_failed)
		r = f->look->err->code;
	else if (!*f->name)
		r = mlgen_fail(f->look->err, -EINVAL,
			       "%s: found no dataset with a dimension (objects examined: %u); name "
			       "a dataset with hdf5_dataset=",
			       f->look->path, s->objects);
	mem_free(s);
	return r;
}

static int find_named(struct hdf5_file *f, const char *name)
{
	hid_t object = f->h5->Oopen(f->file, name, H5P_DEFAULT);
	bool is_dataset = object >= 0 && f->h5->Iget_type(object) == H5I_DATASET;
	char why[128] = "it is a group";

	if (object < 0)
		hdf5_source_why(f->h5, why, sizeof(why));
	if (object >= 0)
		f->h5->Oclose(object);
	if (f->has_failed)
		return f->look->err->code;
	if (is_dataset && strlen(name) < sizeof(f->name)) {
		snprintf(f->name, sizeof(f->name), "%s", name);
		return 0;
	}
	if (find_first(f))
		return f->look->err->code;
	return mlgen_fail(f->look->err, -EINVAL,
			  "%s: hdf5_dataset: the dataset '%s' cannot be opened (%s); without the "
			  "option, mlgen uses '%s'",
			  f->look->path, name, why, f->name);
}

int hdf5_file_choose(struct hdf5_file *f)
{
	const char *name = f->look->options->hdf5_dataset;
	int r = open_file(f);

	if (r == 0)
		r = name ? find_named(f, name) : find_first(f);
	hdf5_file_close(f);
	return r;
}

/* ---- the shape of a dataset ---- */

/* Do elements of this type point to data elsewhere? */
static bool is_variable(const struct hdf5_library *h5, hid_t type, unsigned depth)
{
	H5T_class_t class = h5->Tget_class(type);
	bool is = class == H5T_VLEN || class == H5T_REFERENCE ||
		  (class == H5T_STRING && h5->Tis_variable_str(type) > 0);
	int parts = class == H5T_ARRAY ? 1 : class == H5T_COMPOUND ? h5->Tget_nmembers(type) : 0;

	for (int i = 0; i < parts && !is && depth < DEPTH_MAX; i++) {
		hid_t part = class == H5T_ARRAY ? h5->Tget_super(type)
						: h5->Tget_member_type(type, (unsigned)i);

		is = part < 0 || is_variable(h5, part, depth + 1);
		if (part >= 0)
			h5->Tclose(part);
	}
	return is;
}

static int shape_type(struct hdf5_file *f, struct hdf5_shape *s)
{
	hid_t type = f->h5->Dget_type(f->dataset);
	bool is_elsewhere = type >= 0 && is_variable(f->h5, type, 0);

	s->element_bytes = type >= 0 ? f->h5->Tget_size(type) : 0;
	if (type >= 0)
		f->h5->Tclose(type);
	if (s->element_bytes == 0)
		return hdf5_file_failed(f);
	if (is_elsewhere)
		return hdf5_file_refuse(f, "has elements of variable length or references; use a "
					   "dataset with elements of a fixed size (hdf5_dataset=)");
	return 0;
}

static int shape_sides(struct hdf5_file *f, struct hdf5_shape *s)
{
	hid_t space = f->h5->Dget_space(f->dataset);
	int rank = space >= 0 ? f->h5->Sget_simple_extent_ndims(space) : -1;

	if (rank > 0 && rank <= HDF5_RANK_ALL &&
	    f->h5->Sget_simple_extent_dims(space, s->sides, NULL) < 0)
		rank = -1;
	if (space >= 0)
		f->h5->Sclose(space);
	if (rank < 0 || rank > HDF5_RANK_ALL)
		return hdf5_file_failed(f);
	s->rank = (unsigned)rank;
	if (rank == 0)
		return hdf5_file_refuse(f, "has no dimension, but samples lie along the first "
					   "dimension; use another dataset (hdf5_dataset=)");
	return 0;
}

/* Filters other than deflate are refused by name. */
static int shape_filters(struct hdf5_file *f, hid_t plist, struct hdf5_shape *s)
{
	int n = f->h5->Pget_nfilters(plist);

	if (n < 0)
		return hdf5_file_failed(f);
	for (int i = 0; i < n; i++) {
		char name[64] = "";
		unsigned flags, config;
		size_t values = 0;
		H5Z_filter_t id = f->h5->Pget_filter2(plist, (unsigned)i, &flags, &values, NULL,
						      sizeof(name), name, &config);

		if (id < 0)
			return hdf5_file_failed(f);
		name[sizeof(name) - 1] = '\0';
		if (id != H5Z_FILTER_DEFLATE)
			return hdf5_file_refuse(
				f,
				"has the filter %d, '%s', but mlgen knows only deflate (gzip); "
				"rewrite the dataset with deflate or without a filter",
				(int)id, name);
	}
	s->is_filtered = n > 0;
	return 0;
}

static int shape_layout(struct hdf5_file *f, hid_t plist, struct hdf5_shape *s)
{
	switch (f->h5->Pget_layout(plist)) {
	case H5D_COMPACT:
		s->is_compact = true;
		return 0;
	case H5D_CONTIGUOUS:
		if (f->h5->Pget_external_count(plist) != 0)
			return hdf5_file_refuse(f,
						"has its data in other files (external storage), "
						"but mlgen reads samples from the file itself");
		return 0;
	case H5D_CHUNKED:
		s->is_chunked = true;
		if (f->h5->Pget_chunk(plist, HDF5_RANK_ALL, s->chunk) != (int)s->rank)
			return hdf5_file_failed(f);
		return shape_filters(f, plist, s);
	case H5D_VIRTUAL:
		return hdf5_file_refuse(f, "is a virtual dataset made of datasets in other files; "
					   "scan the other files");
	default:
		return hdf5_file_failed(f);
	}
}

int hdf5_file_shape(struct hdf5_file *f, struct hdf5_shape *s)
{
	hid_t plist = f->h5->Dget_create_plist(f->dataset);

	*s = (struct hdf5_shape){ 0 };
	if (plist < 0)
		return hdf5_file_failed(f);
	int r = shape_sides(f, s);
	if (r == 0)
		r = shape_layout(f, plist, s);
	if (r == 0)
		r = shape_type(f, s);
	if (r == 0 && !s->is_chunked && !s->is_compact && s->sides[0]) {
		s->off = f->h5->Dget_offset(f->dataset);
		/* libhdf5 allocates the place of the data when they are first written. */
		if (s->off == HADDR_UNDEF)
			r = hdf5_file_refuse(
				f, "has no data: nothing was written since it was created");
	}
	f->h5->Pclose(plist);
	return r;
}

/* ---- opening as h5py does: the dataset, then its type and shape ---- */

int hdf5_file_open(struct hdf5_file *f)
{
	hid_t space = H5I_INVALID_HID;
	char why[128];
	int r = open_file(f);

	if (r)
		return r;
	f->dataset = f->h5->Oopen(f->file, f->name, H5P_DEFAULT);
	if (f->dataset >= 0)
		space = f->h5->Dget_space(f->dataset);
	if (space >= 0)
		f->h5->Sclose(space);
	if (f->has_failed)
		return f->look->err->code;
	if (space >= 0)
		return 0;
	/* The dataset may be damaged, or consist of datasets in other files. */
	hdf5_source_why(f->h5, why, sizeof(why));
	return hdf5_file_refuse(f, "cannot be opened; libhdf5 reports: %s", why);
}

void hdf5_file_close(struct hdf5_file *f)
{
	if (f->dataset >= 0)
		f->h5->Oclose(f->dataset);
	if (f->file >= 0)
		f->h5->Fclose(f->file);
	f->dataset = f->file = H5I_INVALID_HID;
}

void hdf5_file_fini(struct hdf5_file *f)
{
	hdf5_file_close(f);
	mem_free(f->notes.at);
	f->notes = (struct hdf5_notes){ 0 };
}

#endif
