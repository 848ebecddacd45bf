/* SPDX-License-Identifier: Apache-2.0 */
/* writeall.c - write all of a text to a descriptor. */
#include "base/writeall.h"

#include <errno.h>
#include <unistd.h>

int writeall(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int writeall_at(int fd, const void *from, size_t bytes, uint64_t at)
{
	const char *in = from;

	while (bytes > 0) {
		ssize_t n = pwrite(fd, in, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		in += n;
		at += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}
