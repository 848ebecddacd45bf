/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dist_file.c - any bytes as a file of values: refused by line, or drawn from within its
 * values. */
#include "fuzz.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/dist.h"

static void check(const char *path, enum dist_unit unit, unsigned kb_base)
{
	struct mlgen_err err = { 0 };
	struct dist_file *f;
	double least, most;

	if (dist_file_read(&f, path, unit, "s", kb_base, &err) < 0) {
		MUST(!f && err.code && *err.text);
		return;
	}
	least = dist_file_quantile(f, 0x1p-53);
	most = dist_file_quantile(f, 1 - 0x1p-53);
	MUST(least >= 0 && most <= DIST_VALUE_MAX);
	for (double p = 0.001, last = least; p < 1; p += 0.001) {
		double v = dist_file_quantile(f, p);

		MUST(v >= last && v <= most);
		last = v;
	}
	MUST(isfinite(dist_file_mean(f)) && dist_file_mean(f) > 0);
	MUST(isfinite(dist_file_stdev(f)) && dist_file_stdev(f) >= 0);
	dist_file_unref(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("values", MFD_CLOEXEC);
	char path[64];

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(path, DIST_BYTES, 1024);
	check(path, DIST_BYTES, 1000);
	check(path, DIST_NS, 1024);
	close(fd);
	return 0;
}
