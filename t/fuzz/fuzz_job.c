/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job.c - any bytes as a job file: told what is wrong, or shown and read back alike. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/engines.h"
#include "job/job.h"

static const struct jobset_env env = {
	.engines = engines_built,
	.why_absent = engines_why_absent,
};

/* Nothing is read in place of a real file: what is included stands beside it, where no file of that
 * name is. */
static int load(struct jobset *set, const void *data, size_t size, struct diag *d)
{
	char program[] = "mlgen", path[64];
	char *const argv[] = { program, path, NULL };
	int fd = memfd_create("job", MFD_CLOEXEC);
	int rc;

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(set, 0, sizeof(*set));
	diag_init(d);
	rc = jobset_load(set, 2, argv, &env, d);
	close(fd);
	MUST((rc < 0) == (d->errors > 0));
	return rc;
}

static void unload(struct jobset *set, struct diag *d)
{
	FILE *to = fopen("/dev/null", "w");

	MUST(to != NULL);
	diag_print(d, to);
	fclose(to);
	diag_fini(d);
	jobset_fini(set);
}

/* --showjob without the comments, which say where each value came from. */
static char *show(const struct jobset *set)
{
	char *text = NULL, *from, *into;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	MUST(to != NULL);
	showjob_print(to, set);
	fclose(to);
	for (from = into = text; *from;) {
		size_t n = strcspn(from, "\n");

		n += from[n] == '\n';
		if (*from != '#') {
			memmove(into, from, n);
			into += n;
		}
		from += n;
	}
	*into = '\0';
	return text;
}

static void check_shown(const char *shown)
{
	struct jobset set;
	struct diag d;
	char *again;
	bool reads_back = load(&set, shown, strlen(shown), &d) == 0, is_same;

	if (!reads_back)
		diag_print(&d, stderr);
	MUST(reads_back);
	again = show(&set);
	is_same = strcmp(shown, again) == 0;
	if (!is_same)
		fprintf(stderr, "%s\n---- read back:\n%s\n", shown, again);
	MUST(is_same);
	mem_free(again);
	unload(&set, &d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jobset set;
	struct diag d;

	if (load(&set, data, size, &d) == 0 && showjob_check(&set, NULL) == 0) {
		char *shown = show(&set);

		check_shown(shown);
		mem_free(shown);
	}
	unload(&set, &d);
	return 0;
}
