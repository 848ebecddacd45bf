/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - find out which format the files of a scan have (format=auto). */
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

#define VOTERS_MAX 64u
#define PERCENT_MIN 90u
/* Bytes read of a file's beginning; a tar header has its magic at byte 257. */
#define HEAD_BYTES 512u
/* Suffixes of the winning format, and bytes of each. */
#define SUFFIXES_MAX 8u
#define SUFFIX_BYTES 16u

/* A file whose format is to be found. */
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

/* A user block of 512 bytes, 1024, ... may precede the magic. */
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

/* The magic is at both ends; files with an encrypted footer have PARE. */
static bool is_parquet(const struct sniff *s)
{
	if (s->look->file_bytes < 12 ||
	    (!detect_begins(s, 0, "PAR1", 4) && !detect_begins(s, 0, "PARE", 4)))
		return false;
	const uint8_t *end = look_at(s->look, s->look->file_bytes - 4, 4);
	return end && (memcmp(end, "PAR1", 4) == 0 || memcmp(end, "PARE", 4) == 0);
}

/* A record begins with its length (8 bytes) and the length's CRC-32C (Castagnoli), with
 * TensorFlow's mask. It is computed here without ISA-L, which tfrecord.c uses but which may be
 * missing. */
static bool is_tfrecord(const struct sniff *s)
{
	uint32_t crc = ~UINT32_C(0);

	if (s->bytes < 12)
		return false;
	for (size_t i = 0; i < 8; i++) {
		crc ^= s->head[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82F63B78) : 0);
	}
	crc = ~crc;
	return look_le(s->head + 8, 4) ==
	       (uint32_t)((crc >> 15 | crc << 17) + UINT32_C(0xa282ead8));
}

static bool is_indexed(const struct sniff *s)
{
	static const char *const suffixes[] = { ".off.idx", ".sz.idx" };
	char path[PATH_MAX];

	if (indexed_is_megatron(s->dir_fd, s->name))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		int n = snprintf(path, sizeof(path), "%s%s", s->name, suffixes[i]);

		if (n < 0 || (size_t)n >= sizeof(path) || faccessat(s->dir_fd, path, F_OK, 0) != 0)
			return false;
	}
	return true;
}

/* Formats in the order of their tests: a magic at an offset, or a function. A file that passes no
 * test has the format of its suffix. */
static const struct format_kind {
	const char *format;
	const char *magic;
	size_t magic_bytes, magic_off;
	bool (*test)(const struct sniff *s);
} kinds[] = {
	{ .format = "npy", .magic = "\x93NUMPY", .magic_bytes = 6 },
	{ .format = "npz", .magic = "PK\3\4", .magic_bytes = 4 },
	{ .format = "jpeg", .magic = "\xff\xd8\xff", .magic_bytes = 3 },
	{ .format = "png", .magic = "\x89PNG\r\n\x1a\n", .magic_bytes = 8 },
	{ .format = "hdf5", .test = is_hdf5 },
	{ .format = "parquet", .test = is_parquet },
	{ .format = "tar", .magic = "ustar", .magic_bytes = 5, .magic_off = 257 },
	{ .format = "tfrecord", .test = is_tfrecord },
	{ .format = "indexed_binary", .test = is_indexed },
	{ .format = "csv" },
	{ .format = "raw" },
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
	bool labels_are_data; /* the scan has nothing else */
	bool interrupted;
	char suffixes[SUFFIXES_MAX][SUFFIX_BYTES];
	size_t suffix_count;
	struct mlgen_err ignored; /* error of a file, which is then raw */
};

/* A format that this mlgen was built without is raw. */
static size_t kind_of(const char *format)
{
	size_t i = 0;

	while (i < RAW && (!format || strcmp(kinds[i].format, format) != 0))
		i++;
	return format_find(kinds[i].format) ? i : RAW;
}

static size_t kind_by_content(const struct sniff *s)
{
	for (const struct format_kind *k = kinds; k < kinds + KINDS; k++)
		if (k->test ? k->test(s)
			    : k->magic && detect_begins(s, k->magic_off, k->magic, k->magic_bytes))
			return kind_of(k->format);
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
			kind = kind_by_content(&s);
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

	return n == NAME_DATA || (n == NAME_LABEL && d->labels_are_data);
}

/* ---- a vote by a few files ---- */

static bool has_suffix(const struct detect *d, const char *name)
{
	for (size_t i = 0; i < d->suffix_count; i++)
		if (strcasecmp(d->suffixes[i], detect_suffix(name)) == 0)
			return true;
	return false;
}

/* The first file from `from` on that may be data; `end` = none. */
static uint64_t next_data(const struct detect *d, uint64_t from, uint64_t end, char *name)
{
	for (; from < end; from++)
		if (scan_name(d->scan, from, name, PATH_MAX) > 0 && is_data(d, name))
			return from;
	return end;
}

/* Choose the files that vote: the first file of data in each of up to VOTERS_MAX equal parts of the
 * scan. */
static unsigned choose_voters(const struct detect *d, uint64_t at[VOTERS_MAX])
{
	uint64_t files = scan_files(d->scan), parts = u64_min(files, VOTERS_MAX);
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

static void detect_vote(struct detect *d)
{
	uint64_t at[VOTERS_MAX], counts[KINDS] = { 0 };
	size_t found[VOTERS_MAX];
	char name[PATH_MAX];
	unsigned n = choose_voters(d, at);

	d->labels_are_data = n == 0;
	if (n == 0)
		n = choose_voters(d, at);
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
	for (unsigned i = 0; i < n && d->suffix_count < SUFFIXES_MAX; i++) {
		if (found[i] != d->best || scan_name(d->scan, at[i], name, sizeof(name)) < 0)
			continue;
		if (strlen(detect_suffix(name)) < SUFFIX_BYTES && !has_suffix(d, name))
			snprintf(d->suffixes[d->suffix_count++], SUFFIX_BYTES, "%s",
				 detect_suffix(name));
	}
}

/* ---- all files ---- */

static bool has_best_kind(const void *arg, uint64_t file)
{
	/* scan_filter has not moved this file yet, so its name can be read. */
	struct detect *d = *(struct detect *const *)arg;
	char name[PATH_MAX];

	d->interrupted |= signals_received() != 0;
	if (d->interrupted)
		return true;
	if (scan_name(d->scan, file, name, sizeof(name)) < 0 || !is_data(d, name)) {
		d->others++;
		return false;
	}
	size_t kind = has_suffix(d, name) ? d->best : sniff(d, file, name);
	d->counts[kind]++;
	return kind == d->best;
}

/* Append the numbers of files by kind; with left_out, only of the kinds that leave the scan. */
static void append_counts(struct buf *to, const struct detect *d, bool left_out)
{
	char text[UNITS_TEXT_BYTES];

	for (size_t k = 0; k < KINDS; k++)
		if (d->counts[k] && !(left_out && k == d->best))
			buf_addf(to, "%s%s %s", to->len ? ", " : "",
				 units_human_count(text, d->counts[k]), kinds[k].format);
	if (d->others)
		buf_addf(to, "%s%s in other formats", to->len ? ", " : "",
			 units_human_count(text, d->others));
}

static int judge(const struct detect *d, struct mlgen_err *err)
{
	uint64_t all = 0, best = d->counts[d->best];
	struct buf text = { 0 };
	int r = 0;

	for (size_t k = 0; k < KINDS; k++)
		all += d->counts[k];
	if (d->interrupted)
		return mlgen_fail(err, -EINTR, "%s: interrupted", d->directory);
	if ((double)best * 100 < (double)all * PERCENT_MIN || best == 0) {
		append_counts(&text, d, false);
		r = mlgen_fail(err, -EINVAL,
			       "%s: format=auto found %s: less than %u %% are in one format; use "
			       "another directory, or format= with the format of all files",
			       d->directory, buf_str(&text), PERCENT_MIN);
	} else {
		append_counts(&text, d, true);
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

	d.dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d.dir_fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", directory, strerror(errno));
	int r = look_init(&d.look, NULL, &d.ignored);
	if (r == 0) {
		detect_vote(&d);
		scan_filter(scan, has_best_kind, &self);
		r = judge(&d, err);
	} else {
		mlgen_fail(err, r, "%s", d.ignored.text);
	}
	look_fini(&d.look);
	close(d.dir_fd);
	*out = format_find(kinds[d.best].format);
	return r;
}

/* ---- a format that is given ---- */

static bool is_data_file(const void *arg, uint64_t file)
{
	const struct scan *scan = *(const struct scan *const *)arg;
	char name[PATH_MAX];

	return scan_name(scan, file, name, sizeof(name)) < 0 || detect_name(name) == NAME_DATA;
}

void detect_drop_formats(struct scan *scan, const char *directory)
{
	const struct scan *self = scan;
	uint64_t before = scan_files(scan), data = 0;
	char text[UNITS_TEXT_BYTES];

	while (data < before && !is_data_file(&self, data))
		data++;
	if (data == before)
		return;
	scan_filter(scan, is_data_file, &self);
	before -= scan_files(scan);
	if (before)
		scan_note(scan, "%s: left out: %s in other formats", directory,
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

/* Only the first files are looked into. All other files need a suffix of the format found. Shards
 * are few and large, so a directory with more than SHARD_ENTRIES_MAX entries holds none. */
#define SHARDS_SNIFFED 8u
#define SHARD_ENTRIES_MAX 65536u

struct shards {
	const struct format *format; /* NULL = none is known yet */
	uint64_t count, entries;
};

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
		const struct format *f;

		are_shards = ++s.entries < SHARD_ENTRIES_MAX;
		if (!are_shards || !is_file || *e->fts_name == '.' ||
		    detect_name(e->fts_name) != NAME_DATA)
			continue;
		f = s.count < SHARDS_SNIFFED ? detect_file(e->fts_path)
					     : format_find(detect_by_suffix(e->fts_path));
		are_shards = f && f->is_forward && (!s.format || f == s.format);
		if (are_shards) {
			s.format = f;
			s.count++;
		}
	}
	if (walk)
		fts_close(walk);
	mem_free(root);
	return are_shards && s.count >= least && s.format ? s.format->name : NULL;
}
