/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - the label files of a scan: labels/0001.txt for images/0001.jpg. */
#include "data/scan/scan_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"
#include "hosts/hosts.h"

/* Number of files that are sampled to detect folders of images and labels. */
#define USUAL_SAMPLES 64u

/* Limits for the suffixes of labels; labels with further or longer suffixes are left out. */
#define SUFFIXES_MAX 32u
#define SUFFIX_BYTES 16u

/* Value of a label: its size, shifted, and the number of its suffix, from 1 on. The highest bit
 * marks a label that belongs to a file. */
#define SIZE_SHIFT 8
#define SUFFIX_MASK UINT64_C(0xff)
#define IS_USED (UINT64_C(1) << 63)

struct listed_label {
	uint64_t key; /* hash of the path without the suffix */
	uint64_t value;
};

struct labels {
	char *text; /* FROM:TO; owned */
	struct namepair pair;
	char suffixes[SUFFIXES_MAX][SUFFIX_BYTES];
	unsigned suffix_count;
	VEC(struct listed_label) listed; /* freed by labels_settle */
	uint64_t *values;                /* indexed by file, 0 = no label; owned */
	uint64_t files, largest;
	uint64_t not_listable; /* labels whose suffix has no number */
	uint64_t unused;       /* labels without a file */
};

static uint64_t key_of(const char *path)
{
	return fnv1a(FNV1A, path, strlen(path) - strlen(detect_suffix(path)));
}

/* Return the number of a suffix, from 1 on; 0 = there are too many, or it is too long. */
static unsigned suffix_number(struct labels *l, const char *suffix)
{
	for (unsigned i = 0; i < l->suffix_count; i++)
		if (strcmp(l->suffixes[i], suffix) == 0)
			return i + 1;
	if (l->suffix_count == SUFFIXES_MAX || strlen(suffix) >= SUFFIX_BYTES)
		return 0;
	snprintf(l->suffixes[l->suffix_count], SUFFIX_BYTES, "%s", suffix);
	return ++l->suffix_count;
}

/* ---- detection of label files ---- */

/* Make the path of a file of the scan. Returns its length, or -errno. */
static int path_of(const struct scan *scan, const char *base, uint64_t file,
		   char path[2 * PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/", base);
	int r = n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : scan_name(scan, file, path + n, PATH_MAX);

	return r < 0 ? r : n + r;
}

bool labels_are_usual(const struct scan *scan, const char *base)
{
	uint64_t files = scan_files(scan);
	uint64_t n = u64_min(files, USUAL_SAMPLES);
	uint64_t counts[NAMEPAIR_TWIN + 1] = { 0 };
	struct namepair pair;

	if (!namepair_parse(&pair, LABELS_USUAL_PAIR))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		char path[2 * PATH_MAX];
		uint64_t file = (uint64_t)((double)i * (double)files / (double)n);

		if (path_of(scan, base, file, path) < 0)
			continue;
		enum namepair_role role = namepair_role(&pair, path);
		if (role != NAMEPAIR_TWIN || detect_name(path) == NAME_LABEL)
			counts[role]++;
	}
	return counts[NAMEPAIR_FIRST] && counts[NAMEPAIR_TWIN];
}

struct label_collector {
	struct labels *labels;
	const struct scan *scan;
	const char *base;
};

/* Record a file if it is a label. Returns true if it stays in the scan. */
static bool collect_label(const void *arg, uint64_t file)
{
	const struct label_collector *c = arg;
	struct labels *l = c->labels;
	char path[2 * PATH_MAX];

	if (path_of(c->scan, c->base, file, path) < 0 ||
	    namepair_role(&l->pair, path) != NAMEPAIR_TWIN)
		return true;
	unsigned suffix = suffix_number(l, detect_suffix(path));
	l->not_listable += suffix == 0;
	if (suffix == 0)
		return false;
	vec_push(&l->listed, (struct listed_label){
				     .key = key_of(path),
				     .value = scan_size(c->scan, file) << SIZE_SHIFT | suffix,
			     });
	return false;
}

static struct labels *labels_alloc(const char *pair)
{
	struct labels *l = mem_zalloc(sizeof(*l));

	l->text = mem_strdup(pair);
	namepair_parse(&l->pair, l->text);
	return l;
}

struct labels *labels_new(struct scan *scan, const char *base, const char *pair)
{
	struct labels *l = labels_alloc(pair);
	const struct label_collector c = { l, scan, base };

	scan_filter(scan, collect_label, &c);
	return l;
}

void labels_free(struct labels *l)
{
	if (!l)
		return;
	mem_free(l->text);
	vec_fini(&l->listed);
	mem_free(l->values);
	mem_free(l);
}

uint64_t labels_listed(const struct labels *l)
{
	return l->listed.count + l->not_listable;
}

bool labels_have_suffix(const struct labels *l, const char *suffix)
{
	for (unsigned i = 0; i < l->suffix_count; i++)
		if (strcasecmp(l->suffixes[i], suffix) == 0)
			return true;
	return false;
}

/* ---- assignment of labels to files ---- */

/* If labels differ only in their suffixes, the suffix that was found first comes first and is
 * used. */
static int by_key(const void *a, const void *b)
{
	const struct listed_label *x = a, *y = b;
	int order = COMPARE(x->key, y->key);

	return order ? order : COMPARE(x->value & SUFFIX_MASK, y->value & SUFFIX_MASK);
}

/* Find the label among those that the scan had. Returns its value, or 0. */
static uint64_t find_listed_label(struct labels *l, const char *twin)
{
	uint64_t key = key_of(twin);
	size_t at = BISECT(i, 0, l->listed.count, l->listed.at[i].key >= key);

	if (at == l->listed.count || l->listed.at[at].key != key)
		return 0;
	l->listed.at[at].value |= IS_USED;
	return l->listed.at[at].value & ~IS_USED;
}

/* Find the label on the filesystem, with any of the usual suffixes. Returns its value, or 0. */
static uint64_t find_label_file(struct labels *l, const char *twin)
{
	const char *own = detect_suffix(twin);
	const char *const suffixes[] = { own, ".txt", ".json", ".xml", ".png", ".npy" };
	int stem = (int)(strlen(twin) - strlen(own));
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		int n = snprintf(path, sizeof(path), "%.*s%s", stem, twin, suffixes[i]);

		if (n < 0 || (size_t)n >= sizeof(path) || stat(path, &st) != 0 ||
		    !S_ISREG(st.st_mode) || st.st_size == 0)
			continue;
		unsigned suffix = suffix_number(l, suffixes[i]);
		if (suffix)
			return (uint64_t)st.st_size << SIZE_SHIFT | suffix;
	}
	return 0;
}

/* Make the path of a file's label, but with the suffix of the file. */
static int twin_of(const struct labels *l, const struct scan *scan, const char *base, uint64_t file,
		   char twin[PATH_MAX])
{
	char path[2 * PATH_MAX];
	int r = path_of(scan, base, file, path);

	return r < 0 ? r : namepair_twin(&l->pair, path, twin, PATH_MAX);
}

int labels_settle(struct labels *l, const struct scan *scan, const char *base,
		  struct mlgen_err *err)
{
	bool is_listed = labels_listed(l) > 0;
	char twin[PATH_MAX];

	if (l->listed.count)
		qsort(l->listed.at, l->listed.count, sizeof(*l->listed.at), by_key);
	l->files = scan_files(scan);
	l->values = mem_array((size_t)l->files, sizeof(*l->values));
	for (uint64_t i = 0; i < l->files; i++) {
		if (signals_received())
			return mlgen_fail(err, -EINTR, "%s: interrupted", base);
		if (twin_of(l, scan, base, i, twin) < 0)
			continue;
		l->values[i] = is_listed ? find_listed_label(l, twin) : find_label_file(l, twin);
		l->largest = u64_max(l->largest, labels_bytes(l, i));
	}
	l->unused = l->not_listable;
	for (size_t i = 0; i < l->listed.count; i++)
		l->unused += !(l->listed.at[i].value & IS_USED);
	vec_fini(&l->listed);
	return 0;
}

void labels_note_unpaired(const struct labels *l, const struct scan *scan, const char *base)
{
	uint64_t without = l->files - labels_count(l, l->files);
	char text[UNITS_TEXT_BYTES];

	if (without)
		scan_note(scan,
			  "%s: %s of %" PRIu64
			  " files ha%s no label by scan_pair=%s, and no label is read for %s",
			  base, units_human_count(text, without), l->files,
			  without == 1 ? "s" : "ve", l->text, without == 1 ? "it" : "them");
	if (l->unused)
		scan_note(scan, "%s: left out: %s label%s without a file", base,
			  units_human_count(text, l->unused), plural(l->unused));
}

int labels_refuse(const struct labels *l, const struct scan *scan, const char *base,
		  struct mlgen_err *err)
{
	char twin[PATH_MAX] = "", *slash;
	struct stat st;

	if (twin_of(l, scan, base, 0, twin) > 0) {
		slash = strrchr(twin, '/');
		if (slash)
			*slash = '\0';
		if (slash && stat(twin, &st) != 0)
			return mlgen_fail(
				err, -errno,
				"scan_pair: %s: %s; the labels of %s should be there by %s", twin,
				strerror(errno), base, l->text);
	}
	return mlgen_fail(err, -EINVAL,
			  "scan_pair: no file in %s has a label by %s: a label has TO in place of "
			  "FROM in its path, and the same name as its file except for the suffix",
			  base, l->text);
}

/* ---- queries ---- */

uint64_t labels_bytes(const struct labels *l, uint64_t file)
{
	return l->values[file] >> SIZE_SHIFT;
}

uint64_t labels_largest(const struct labels *l)
{
	return l->largest;
}

uint64_t labels_sum(const struct labels *l, uint64_t files)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < files; i++)
		bytes += labels_bytes(l, i);
	return bytes;
}

uint64_t labels_count(const struct labels *l, uint64_t files)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < files; i++)
		n += l->values[i] != 0;
	return n;
}

int labels_path(const struct labels *l, uint64_t file, const char *path, char *out, size_t size)
{
	unsigned suffix = (unsigned)(l->values[file] & SUFFIX_MASK);
	char twin[PATH_MAX];

	if (!suffix)
		return -ENOENT;
	int n = namepair_twin(&l->pair, path, twin, sizeof(twin));
	if (n < 0)
		return n;
	n -= (int)strlen(detect_suffix(twin));
	n = snprintf(out, size, "%.*s%s", n, twin, l->suffixes[suffix - 1]);
	return n >= 0 && (size_t)n < size ? n : -ENAMETOOLONG;
}

/* ---- transfer to other processes of the job ---- */

struct labels_head {
	uint64_t files, largest, text_bytes;
	char suffixes[SUFFIXES_MAX][SUFFIX_BYTES];
	unsigned suffix_count;
};

int labels_send(const struct labels *l, struct relay *to, struct mlgen_err *err)
{
	struct labels_head head = { .files = l->files,
				    .largest = l->largest,
				    .text_bytes = strlen(l->text),
				    .suffix_count = l->suffix_count };

	memcpy(head.suffixes, l->suffixes, sizeof(head.suffixes));
	int rc = relay_write(to, &head, sizeof(head), err);
	if (rc == 0)
		rc = relay_write(to, l->text, (size_t)head.text_bytes, err);
	for (uint64_t i = 0; i < l->files && rc == 0; i++)
		rc = relay_write(to, &l->values[i], sizeof(l->values[i]), err);
	return rc;
}

int labels_receive(struct labels **out, struct relay *from, struct mlgen_err *err)
{
	struct labels_head head;
	int rc = relay_read(from, &head, sizeof(head), err);

	if (rc)
		return rc;
	char *text = mem_zalloc((size_t)head.text_bytes + 1);
	rc = relay_read(from, text, (size_t)head.text_bytes, err);
	struct labels *l = labels_alloc(text);
	mem_free(text);
	l->files = head.files;
	l->largest = head.largest;
	l->suffix_count = head.suffix_count;
	memcpy(l->suffixes, head.suffixes, sizeof(l->suffixes));
	l->values = mem_array((size_t)l->files, sizeof(*l->values));
	if (rc == 0)
		rc = relay_read(from, l->values, (size_t)l->files * sizeof(*l->values), err);
	if (rc) {
		labels_free(l);
		return rc;
	}
	*out = l;
	return 0;
}
