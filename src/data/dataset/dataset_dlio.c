/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_dlio.c - a dataset that DLIO or MLPerf Storage wrote, where mlgen would make its own. */
#include "data/dataset/dataset_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "job/job.h"

/* Folders below train/ that are looked into for the first name: DLIO makes one level of them. */
#define DEPTH_MAX 2

/* As DLIO's own of more would not fit a path. */
#define DIGITS_MAX 18

struct names {
	const struct format *format;
	uint64_t named; /* the N of all */
	bool is_other;  /* another name, or another N */
};

static const char *read_digits(const char *s, uint64_t *v, size_t *digits)
{
	*v = 0;
	for (*digits = 0; isdigit((unsigned char)*s); s++, ++*digits) {
		if (*digits == DIGITS_MAX)
			return NULL;
		*v = *v * 10 + (uint64_t)(*s - '0');
	}
	return *digits ? s : NULL;
}

/* "img_III_of_N.SUFFIX", as dataset_path writes it: N, or 0. */
static uint64_t read_name(const char *name, const struct format *f)
{
	const char *suffix = f->parts[0].suffix;
	size_t width, digits;
	uint64_t index, n;

	if (strncmp(name, "img_", 4) != 0)
		return 0;
	name = read_digits(name + 4, &index, &width);
	if (!name || strncmp(name, "_of_", 4) != 0)
		return 0;
	name = read_digits(name + 4, &n, &digits);
	if (!name || *name != '.' || width != digits || index >= n)
		return 0;
	return strcmp(name + 1, suffix ? suffix : f->name) == 0 ? n : 0;
}

/* An index of it, or a hidden file. */
static bool is_beside(const char *name)
{
	size_t n = strlen(name);

	return *name == '.' || (n > 4 && strcmp(name + n - 4, ".idx") == 0);
}

/* 1: the first file has such a name; 0: it has none; -1: there is no file. */
static int look_below(const char *path, const struct format *f, unsigned depth)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int found = -1;

	while (dir && found < 0 && (d = readdir(dir))) {
		char below[PATH_MAX];
		struct stat st;
		int n = snprintf(below, sizeof(below), "%s/%s", path, d->d_name);

		if (is_beside(d->d_name) || n < 0 || (size_t)n >= sizeof(below) ||
		    stat(below, &st) != 0)
			continue;
		if (S_ISREG(st.st_mode))
			found = st.st_size && read_name(d->d_name, f);
		else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			found = look_below(below, f, depth + 1);
		else
			found = 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

bool dataset_dlio_is_there(const struct dataset *ds, const struct job *job)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, ds->directory);

	if (job_work(job)->only_prepares || !job_touches_files(job) || n < 0 ||
	    (size_t)n >= sizeof(path) || access(path, F_OK) == 0)
		return false;
	snprintf(path, sizeof(path), "%s/train", ds->directory);
	return look_below(path, ds->format, 1) == 1;
}

static bool keep(void *arg, const char *path)
{
	struct names *k = arg;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uint64_t n = read_name(name, k->format);

	if (n == 0 && is_beside(name))
		return false;
	k->is_other |= n == 0 || (k->named && n != k->named);
	k->named = n;
	return true;
}

uint64_t dataset_dlio_keep(struct scan *scan, const struct format *format, uint64_t *named)
{
	struct names k = { .format = format };

	scan_keep_named(scan, keep, &k);
	*named = k.named;
	return k.is_other ? 0 : scan_files(scan);
}
