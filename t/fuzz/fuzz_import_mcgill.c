/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import_mcgill.c - any texts as files of McGill's scripts: refused with file and line, or a
 * trace. */
#include "import_rig.h"

#include <fcntl.h>

/* A line "== NAME" begins another file; what is before the first has no name that says anything. */
static const char mark[] = "== trace_";
static const char *const names[] = {
	"trace_other",      "trace_read.out",  "trace_write.out",
	"trace_openat.out", "trace_close.out", "trace_create_del.out",
	"trace_bio.out",    "trace_mmap.out",  "trace_time_align.out"
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static int file[NAMES], place = -1;
static char path[NAMES][96];

/* Names that lead to files in memory, below the folder of the build. */
static void make_names(void)
{
	char target[64], folder[] = "build/fuzz/import_mcgill.XXXXXX";

	MUST(mkdtemp(folder));
	place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(place >= 0);
	for (int i = 0; i < NAMES; i++) {
		file[i] = -1;
		rig_file(&file[i]);
		snprintf(target, sizeof(target), "/proc/self/fd/%d", file[i]);
		snprintf(path[i], sizeof(path[i]), "/proc/self/fd/%d/%s", place, names[i]);
		MUST(symlinkat(target, place, names[i]) == 0);
	}
}

static void remove_names(void)
{
	char folder[128] = "", own[64];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", place);
	if (readlink(own, folder, sizeof(folder) - 1) < 0)
		return;
	for (int i = 0; i < NAMES; i++)
		unlinkat(place, names[i], 0);
	rmdir(folder);
}

static int name_at(const char *at, size_t left, size_t *bytes)
{
	for (int i = 1; i < NAMES; i++) {
		size_t n = strlen(names[i]);

		if (left >= n + 4 && memcmp(at + 3, names[i], n) == 0 && at[n + 3] == '\n') {
			*bytes = n + 4;
			return i;
		}
	}
	return -1;
}

/* Bit i: file i has something. */
static unsigned fill_files(const char *data, size_t size)
{
	unsigned filled = 0;
	int at_file = 0;

	for (int i = 0; i < NAMES; i++)
		rig_file(&file[i]);
	while (size) {
		const char *next = memmem(data + 1, size - 1, mark, strlen(mark));
		size_t bytes = 0, n = next ? (size_t)(next - data) : size;
		int named = memcmp(data, mark, n < strlen(mark) ? n : strlen(mark)) == 0
				    ? name_at(data, n, &bytes)
				    : -1;

		if (named >= 0)
			at_file = named;
		MUST(write(file[at_file], data + bytes, n - bytes) == (ssize_t)(n - bytes));
		filled |= n > bytes ? 1u << at_file : 0;
		data += n;
		size -= n;
	}
	return filled;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int trace = -1;
	const char *files[NAMES];
	size_t count = 0;
	unsigned filled;
	bool is_strict;

	if (place < 0) {
		make_names();
		atexit(remove_names);
	}
	filled = fill_files((const char *)data, size);
	for (int i = 0; i < NAMES; i++)
		if (filled & 1u << i)
			files[count++] = path[i];
	if (!count)
		return 0;
	is_strict = rig_take_log(import_mcgill, files, count, false, rig_file(&trace));
	if (is_strict)
		rig_check_trace(trace);
	if (rig_take_log(import_mcgill, files, count, true, rig_file(&trace)))
		rig_check_trace(trace);
	else
		MUST(!is_strict);
	return 0;
}
