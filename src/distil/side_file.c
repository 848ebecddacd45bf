/* SPDX-License-Identifier: Apache-2.0 */
/* side_file.c - see side_file.h. */
#include "distil/side_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dist.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"

struct side_text {
	char *text;
	size_t bytes;
};

/* Of a file that is small: is it what would be written? */
static bool is_same(int fd, const struct side_text *want)
{
	char *there = mem_array(want->bytes + 1, 1);
	size_t n = 0;
	ssize_t got;

	while (n <= want->bytes && (got = read(fd, there + n, want->bytes + 1 - n)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	bool same = n == want->bytes && memcmp(there, want->text, n) == 0;

	mem_free(there);
	return same;
}

static int check_there(const char *path, const struct side_text *want, struct mlgen_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool same = fd >= 0 && is_same(fd, want);

	if (fd >= 0)
		close(fd);
	if (same)
		return 0;
	return mlgen_fail(err, -EEXIST,
			  "%s: is there already with another content, and is left alone; remove "
			  "it, or distil to another --output",
			  path);
}

static int write_new(const char *path, const struct side_text *what, struct mlgen_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int rc;

	if (fd < 0 && errno == EEXIST)
		return check_there(path, what, err);
	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
	rc = writeall(fd, what->text, what->bytes);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		unlink(path);
	return rc < 0 ? mlgen_fail(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

static int make_text(struct side_text *to, side_file_write *write, const void *arg)
{
	FILE *memory = open_memstream(&to->text, &to->bytes);
	bool failed;

	if (!memory)
		return -errno;
	write(memory, arg);
	failed = ferror(memory);
	return fclose(memory) || failed ? -ENOMEM : 0;
}

int side_file(char name[SIDE_FILE_BYTES], const char *folder, const char *stem, const char *suffix,
	      side_file_write *write, const void *arg, struct mlgen_err *err)
{
	struct side_text what = { 0 };
	char path[PATH_MAX];
	int n, rc;

	n = snprintf(name, SIDE_FILE_BYTES, "%s.%s", stem, suffix);
	if (n >= 0 && n < SIDE_FILE_BYTES)
		n = snprintf(path, sizeof(path), "%s%s", folder, name);
	else
		n = -1;
	if (n < 0 || (size_t)n >= sizeof(path))
		return mlgen_fail(err, -ENAMETOOLONG, "%s/%.40s...%s: the name is too long", folder,
				  stem, suffix);
	rc = make_text(&what, write, arg);
	rc = rc < 0 ? mlgen_fail(err, rc, "%s: %s", path, strerror(-rc))
		    : write_new(path, &what, err);
	free(what.text);
	if (rc == 0)
		log_note("%s goes along with the job", path);
	return rc;
}

static void write_values(FILE *to, const void *arg)
{
	const struct side_values *v = arg;

	dist_file_write(to, v->values, v->count, v->unit, v->comment);
}

int side_file_values(char name[SIDE_FILE_BYTES], const char *folder, const char *stem,
		     const char *suffix, const struct side_values *v, struct mlgen_err *err)
{
	return side_file(name, folder, stem, suffix, write_values, v, err);
}
