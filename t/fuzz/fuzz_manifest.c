/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_manifest.c - any bytes as a dataset's manifest: refused, or files with names and sizes. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"

/* One folder for the process, in memory where there is such a place. */
static char directory[] = "/dev/shm/mlgen-fuzz.XXXXXX";

static void remove_directory(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, directory);
	unlink(path);
	rmdir(directory);
}

static void write_manifest(const uint8_t *data, size_t size)
{
	static int is_made;
	char path[PATH_MAX];
	int fd;

	if (!is_made) {
		MUST(mkdtemp(directory) != NULL);
		MUST(atexit(remove_directory) == 0);
		is_made = 1;
	}
	snprintf(path, sizeof(path), "%s/" MANIFEST_NAME, directory);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void check_files(const struct dataset *ds)
{
	char path[PATH_MAX];

	/* Where --replace would delete: never outside the directory. */
	MUST(dataset_path(ds, ds->files_named - 1, path, sizeof(path)) > 0);
	MUST(strncmp(path, directory, strlen(directory)) == 0);
	MUST(!strstr(path, "/../"));
	MUST(dataset_sample_bytes(ds, 0) >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;
	uint64_t files, bytes;
	bool estimate;

	write_manifest(data, size);
	if (manifest_describe(directory, &ds, &err) < 0) {
		MUST(err.code && *err.text);
	} else {
		check_files(&ds);
		MUST(manifest_present(&ds, &files, &bytes, &estimate, &err) == 0);
	}
	dataset_fini(&ds);
	return 0;
}
