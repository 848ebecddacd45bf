/* SPDX-License-Identifier: Apache-2.0 */
/* look_index.c - a text that lies beside a file and says where its samples are. */
#include "data/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *open_file(const char *path)
{
	/* A fifo would wait for its other end. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	FILE *f = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		f = fdopen(fd, "r");
	if (!f)
		close(fd);
	return f;
}

FILE *look_index_open(const struct look *l,
		      bool (*beside)(const char *path, unsigned i, char *out, size_t size),
		      char path[PATH_MAX])
{
	FILE *f = NULL;

	for (unsigned i = 0; !f && beside(l->path, i, path, PATH_MAX); i++)
		if (*path)
			f = open_file(path);
	return f;
}

void look_index_close(struct look *l, FILE *f)
{
	long at = ftell(f);

	if (at > 0)
		l->read_bytes += (uint64_t)at;
	posix_fadvise(fileno(f), 0, 0, POSIX_FADV_DONTNEED);
	fclose(f);
}

void look_index_note(struct look *l, const char *path, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mlgen_fail(&l->note, -ESTALE, "%s: %s", path, text);
}
