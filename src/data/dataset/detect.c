/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - of which format the files of a scan are (format=auto). */
#include "data/dataset/dataset_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats.h"
#include "data/scan/scan.h"

#define SAMPLES_MAX 64u
#define PERCENT_LEAST 90u
/* What is read of a file's beginning, up to behind a tar header's magic. */
#define HEAD_BYTES 512u
/* Suffixes of the format that most have, and bytes of one. */
#define SUFFIXES_MAX 8u
#define SUFFIX_BYTES 16u

/* One file that is looked at. */
struct sniff {
	struct look *look;
	int dir_fd;
	const char *name; /* below dir_fd */
	const uint8_t *head;
	size_t bytes;
};

static bool detect_begins(const struct sniff *s, size_t off, const char *magic, size_t n)
{
	return s->bytes >= off + n && memcmp(s->head + off, magic, n) == 0;
}

static bool is_npy(const struct sniff *s)
{
	return detect_begins(s, 0, "\x93NUMPY", 6);
}

static bool is_npz(const struct sniff *s)
{
	return detect_begins(s, 0, "PK\3\4", 4);
}

static bool is_jpeg(const struct sniff *s)
{
	return detect_begins(s, 0, "\xff\xd8\xff", 3);
}

static bool is_png(const struct sniff *s)
{
	return detect_begins(s, 0, "\x89PNG\r\n\x1a\n", 8);
}

static bool is_tar(const struct sniff *s)
{
	return detect_begins(s, 257, "ustar", 5);
}

/* A block of the user's may stand in front: 512 bytes, 1024, ... */
static bool is_hdf5(const struct sniff *s)
{
	static const char magic[] = "\x89HDF\r\n\x1a\n";

	if (detect_begins(s, 0, magic, 8))
		return true;
	for (uint64_t off = 512; off <= 2048; off *= 2) {
		const uint8_t *at = NULL;

		if (s->look->file_bytes >= off + 8)
			at = look_at(s->look, off, 8);
		if (at && memcmp(at, magic, 8) == 0)
			return true;
	}
	return false;
}

/* At both ends; of an encrypted footer PARE. */
static bool is_parquet(const struct sniff *s)
{
	const uint8_t *end;

	if (s->look->file_bytes < 12 ||
	    (!detect_begins(s, 0, "PAR1", 4) && !detect_begins(s, 0, "PARE", 4)))
		return false;
	end = look_at(s->look, s->look->file_bytes - 4, 4);
	return end && (memcmp(end, "PAR1", 4) == 0 || memcmp(end, "PARE", 4) == 0);
}

/* CRC-32C (Castagnoli), bit by bit: of eight bytes. */
static uint32_t crc32c_of(const uint8_t *at, size_t bytes)
{
	uint32_t crc = ~UINT32_C(0);

	for (size_t i = 0; i < bytes; i++) {
		crc ^= at[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82F63B78) : 0);
	}
	return ~crc;
}

/* TensorFlow's mask of a checksum. */
static bool is_tfrecord(const struct sniff *s)
{
	uint32_t crc;

	if (s->bytes < 12)
		return false;
	crc = crc32c_of(s->head, 8);
	return look_le(s->head + 8, 4) ==
	       (uint32_t)((crc >> 15 | crc << 17) + UINT32_C(0xa282ead8));
}

static bool is_indexed(const struct sniff *s)
{
	static const char *const twins[] = { ".off.idx", ".sz.idx" };
	char path[PATH_MAX];

	if (indexed_is_megatron(s->dir_fd, s->name))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(twins); i++) {
		int n = snprintf(path, sizeof(path), "%s%s", s->name, twins[i]);

		if (n < 0 || (size_t)n >= sizeof(path) || faccessat(s->dir_fd, path, F_OK, 0) != 0)
			return false;
	}
	return true;
}

/* What files show, in the order in which they are asked; then their suffix. */
static const struct kind {
	const char *format;
	bool (*test)(const struct sniff *s);
} kinds[] = {
	{ "npy", is_npy },
	{ "npz", is_npz },
	{ "jpeg", is_jpeg },
	{ "png", is_png },
	{ "hdf5", is_hdf5 },
	{ "parquet", is_parquet },
	{ "tar", is_tar },
	{ "tfrecord", is_tfrecord },
	{ "indexed_binary", is_indexed },
	{ "csv", NULL },
	{ "raw", NULL },
};

#define KINDS ARRAY_LEN(kinds)
#define RAW (KINDS - 1)

struct detect {
	struct scan *scan;
	const char *directory;
	struct look look;
	int dir_fd;
	uint64_t counts[KINDS];
	uint64_t others;
	size_t best;
	bool takes_labels; /* there is nothing else */
	bool interrupted;
	char suffixes[SUFFIXES_MAX][SUFFIX_BYTES];
	size_t suffix_count;
	struct mlgen_err ignored; /* of one file: it shows nothing */
};

/* One that this mlgen does not have is raw. */
static size_t kind_of(const char *format)
{
	size_t i = 0;

	while (i < RAW && (!format || strcmp(kinds[i].format, format) != 0))
		i++;
	return format_find(kinds[i].format) ? i : RAW;
}

static size_t kind_inside(const struct sniff *s)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].test && kinds[i].test(s))
			return kind_of(kinds[i].format);
	return RAW;
}

static size_t sniff_file(struct look *l, int dir_fd, const char *name, uint64_t bytes)
{
	struct sniff s = { .look = l, .dir_fd = dir_fd, .name = name };
	size_t kind = RAW;

	if (look_open(l, dir_fd, name, name, bytes) == 0) {
		s.bytes = (size_t)u64_min(l->file_bytes, HEAD_BYTES);
		s.head = look_at(l, 0, s.bytes);
		if (s.head)
			kind = kind_inside(&s);
	}
	look_close(l);
	return kind == RAW ? kind_of(detect_by_suffix(name)) : kind;
}

static size_t sniff(struct detect *d, uint64_t file, const char *name)
{
	d->ignored = (struct mlgen_err){ 0 };
	return sniff_file(&d->look, d->dir_fd, name, scan_size(d->scan, file));
}

static bool is_data(const struct detect *d, const char *name)
{
	enum detect_name n = detect_name(name);

	return n == NAME_DATA || (n == NAME_LABEL && d->takes_labels);
}

/* ---- a few of them ---- */

static bool has_suffix(const struct detect *d, const char *name)
{
	const char *suffix = detect_suffix(name);

	for (size_t i = 0; i < d->suffix_count; i++)
		if (strcasecmp(d->suffixes[i], suffix) == 0)
			return true;
	return false;
}

static void add_suffix(struct detect *d, const char *name)
{
	const char *suffix = detect_suffix(name);

	if (d->suffix_count < SUFFIXES_MAX && strlen(suffix) < SUFFIX_BYTES && !has_suffix(d, name))
		snprintf(d->suffixes[d->suffix_count++], SUFFIX_BYTES, "%s", suffix);
}

/* From `from` on the first that may be data; `end`: none. */
static uint64_t next_data(const struct detect *d, uint64_t from, uint64_t end, char *name)
{
	for (; from < end; from++)
		if (scan_name(d->scan, from, name, PATH_MAX) > 0 && is_data(d, name))
			return from;
	return end;
}

/* Which files decide: of each of so many parts of the scan the first. */
static unsigned detect_choose(const struct detect *d, uint64_t at[SAMPLES_MAX])
{
	uint64_t files = scan_files(d->scan), parts = u64_min(files, SAMPLES_MAX);
	char name[PATH_MAX];
	unsigned n = 0;

	for (uint64_t i = 0; i < parts; i++) {
		uint64_t end = (uint64_t)((double)(i + 1) * (double)files / (double)parts);
		uint64_t from = (uint64_t)((double)i * (double)files / (double)parts);

		at[n] = next_data(d, from, end, name);
		n += at[n] < end;
	}
	return n;
}

static void sample(struct detect *d)
{
	uint64_t at[SAMPLES_MAX], counts[KINDS] = { 0 };
	size_t found[SAMPLES_MAX];
	char name[PATH_MAX];
	unsigned n = detect_choose(d, at);

	d->takes_labels = n == 0;
	if (n == 0)
		n = detect_choose(d, at);
	d->best = RAW;
	for (unsigned i = 0; i < n; i++) {
		if (scan_name(d->scan, at[i], name, sizeof(name)) < 0)
			*name = '\0';
		found[i] = sniff(d, at[i], name);
		counts[found[i]]++;
	}
	for (size_t k = 0; k < KINDS; k++)
		if (counts[k] > counts[d->best])
			d->best = k;
	for (unsigned i = 0; i < n; i++)
		if (found[i] == d->best && scan_name(d->scan, at[i], name, sizeof(name)) >= 0)
			add_suffix(d, name);
}

/* ---- all of them ---- */

static bool keep_kind(const void *arg, uint64_t file)
{
	/* The scan is compacted behind this, and names are asked before. */
	struct detect *d = *(struct detect *const *)arg;
	char name[PATH_MAX];
	size_t kind;

	d->interrupted |= signals_taken() != 0;
	if (d->interrupted)
		return true;
	if (scan_name(d->scan, file, name, sizeof(name)) < 0 || !is_data(d, name)) {
		d->others++;
		return false;
	}
	kind = has_suffix(d, name) ? d->best : sniff(d, file, name);
	d->counts[kind]++;
	return kind == d->best;
}

/* Of all kinds, or of those that are left out. */
static void put_counts(struct buf *to, const struct detect *d, bool left_out)
{
	char text[UNITS_TEXT_BYTES];

	for (size_t k = 0; k < KINDS; k++)
		if (d->counts[k] && !(left_out && k == d->best))
			buf_addf(to, "%s%s %s", to->len ? ", " : "",
				 units_human_count(text, d->counts[k]), kinds[k].format);
	if (d->others)
		buf_addf(to, "%s%s of other kinds", to->len ? ", " : "",
			 units_human_count(text, d->others));
}

static int detect_judge(const struct detect *d, struct mlgen_err *err)
{
	uint64_t all = 0, best = d->counts[d->best];
	struct buf text = { 0 };
	int r = 0;

	for (size_t k = 0; k < KINDS; k++)
		all += d->counts[k];
	if (d->interrupted)
		return mlgen_fail(err, -EINTR, "%s: interrupted", d->directory);
	if ((double)best * 100 < (double)all * PERCENT_LEAST || best == 0) {
		put_counts(&text, d, false);
		r = mlgen_fail(err, -EINVAL,
			       "%s: format=auto found %s: less than %u %% of one format; another "
			       "directory, or format= for what all of them are",
			       d->directory, buf_str(&text), PERCENT_LEAST);
	} else {
		put_counts(&text, d, true);
		if (text.len)
			scan_note(d->scan, "%s: format=%s; left out: %s", d->directory,
				  kinds[d->best].format, buf_str(&text));
	}
	buf_fini(&text);
	return r;
}

int detect_format(const struct format **out, struct scan *scan, const char *directory,
		  struct mlgen_err *err)
{
	struct detect d = { .scan = scan, .directory = directory };
	struct detect *self = &d;
	int r;

	d.dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d.dir_fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", directory, strerror(errno));
	r = look_init(&d.look, NULL, &d.ignored);
	if (r == 0) {
		sample(&d);
		scan_keep(scan, keep_kind, &self);
		r = detect_judge(&d, err);
	} else {
		mlgen_fail(err, r, "%s", d.ignored.text);
	}
	look_fini(&d.look);
	close(d.dir_fd);
	*out = format_find(kinds[d.best].format);
	return r;
}

/* ---- a format that is given ---- */

static bool keep_data(const void *arg, uint64_t file)
{
	const struct scan *scan = *(const struct scan *const *)arg;
	char name[PATH_MAX];

	return scan_name(scan, file, name, sizeof(name)) < 0 || detect_name(name) == NAME_DATA;
}

void detect_leave_out(struct scan *scan, const char *directory)
{
	const struct scan *self = scan;
	uint64_t before = scan_files(scan), data = 0;
	char text[UNITS_TEXT_BYTES];

	while (data < before && !keep_data(&self, data))
		data++;
	if (data == before)
		return;
	scan_keep(scan, keep_data, &self);
	before -= scan_files(scan);
	if (before)
		scan_note(scan, "%s: left out: %s of other kinds", directory,
			  units_human_count(text, before));
}

/* ---- one file ---- */

const struct format *detect_file(const char *path)
{
	struct mlgen_err ignored = { 0 };
	struct stat st;
	struct look l;
	size_t kind = RAW;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	if (look_init(&l, NULL, &ignored) == 0)
		kind = sniff_file(&l, AT_FDCWD, path, (uint64_t)st.st_size);
	look_fini(&l);
	return kind == RAW ? NULL : format_find(kinds[kind].format);
}

/* ---- shards ---- */

/* The first files are looked into, the others are of that format by their suffix. A directory of
 * more entries does not hold a few large files. */
#define SHARDS_LOOKED_INTO 8u
#define SHARD_ENTRIES_MAX 65536u

struct shards {
	const struct format *format; /* NULL = none is known yet */
	uint64_t count, entries;
};

/* False: this file is no shard, or of another format. */
static bool add_shard(struct shards *s, const char *path)
{
	const struct format *f = s->count < SHARDS_LOOKED_INTO
					 ? detect_file(path)
					 : format_find(detect_by_suffix(path));

	if (!f || !f->is_forward || (s->format && f != s->format))
		return false;
	s->format = f;
	s->count++;
	return true;
}

const char *detect_shards(const char *directory, uint64_t least)
{
	char *root = mem_strdup(directory);
	char *const roots[] = { root, NULL };
	struct shards s = { 0 };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	bool are_shards = walk != NULL;
	FTSENT *e;

	while (are_shards && s.count < least && (e = fts_read(walk))) {
		bool is_file = e->fts_info == FTS_F || e->fts_info == FTS_NSOK;

		are_shards = ++s.entries < SHARD_ENTRIES_MAX;
		if (are_shards && is_file && *e->fts_name != '.' &&
		    detect_name(e->fts_name) == NAME_DATA)
			are_shards = add_shard(&s, e->fts_path);
	}
	if (walk)
		fts_close(walk);
	mem_free(root);
	return are_shards && s.count >= least && s.format ? s.format->name : NULL;
}
