/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_recorded.c - any bytes as a file of recorded calls: refused by line, or written back
 * alike. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/plans/plans.h"

static struct recorded *read_calls(const void *data, size_t size)
{
	int fd = memfd_create("calls", MFD_CLOEXEC);
	struct mlgen_err err = { 0 };
	struct recorded *r;
	char path[64];

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (recorded_read(&r, path, 1024, &err) < 0)
		MUST(!r && err.code && *err.text);
	close(fd);
	return r;
}

static char *write_calls(const struct recorded *r, size_t *bytes)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, bytes);

	recorded_write(f, r, NULL);
	MUST(fclose(f) == 0);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recorded *r = read_calls(data, size), *again;
	size_t bytes, more;
	char *text, *same;

	if (!r)
		return 0;
	text = write_calls(r, &bytes);
	again = read_calls(text, bytes);
	MUST(again);
	same = write_calls(again, &more);
	MUST(bytes == more && memcmp(text, same, bytes) == 0);
	for (uint64_t i = 0; i < 100; i++)
		MUST(recorded_of(r, i)->count);
	MUST(recorded_largest_read(r) == recorded_largest_read(again));
	recorded_free(r);
	recorded_free(again);
	free(text);
	free(same);
	return 0;
}
