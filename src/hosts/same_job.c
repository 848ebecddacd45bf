/* SPDX-License-Identifier: Apache-2.0 */
/* same_job.c - see compare.h. */
#include "hosts/same_job.h"

#include <errno.h>
#include <string.h>

/* The next line that counts, and its length; NULL: there is none. */
static const char *next_line(const char **at, size_t *n)
{
	while (**at) {
		const char *line = *at;

		*n = strcspn(line, "\n");
		*at = line + *n + (line[*n] == '\n');
		if (*n && line[0] != '#' && strncmp(line, "accelerators=", 13) != 0)
			return line;
	}
	*n = 0;
	return NULL;
}

static int differ(struct hosts *h, const char *mine, size_t n, const char *theirs, size_t m,
		  struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "its job has %.*s, where that of host %s (rank 0) has %.*s: start all "
			  "processes with the same job",
			  mine ? (int)n : 7, mine ? mine : "nothing", hosts_name(h, 0),
			  theirs ? (int)m : 7, theirs ? theirs : "nothing");
}

static int compare(struct hosts *h, const char *mine, const char *theirs, struct mlgen_err *err)
{
	size_t n, m;

	for (;;) {
		const char *a = next_line(&mine, &n);
		const char *b = next_line(&theirs, &m);

		if (!a && !b)
			return 0;
		if (!a || !b || n != m || memcmp(a, b, n) != 0)
			return differ(h, a, n, b, m, err);
	}
}

int hosts_same_job(struct hosts *h, const char *job, struct mlgen_err *err)
{
	struct buf first = { 0 };
	int rc;

	if (!h)
		return 0;
	buf_add(&first, job);
	rc = hosts_share(h, &first, err);
	if (rc == 0)
		rc = hosts_agree(h, compare(h, job, buf_str(&first), err), err);
	buf_fini(&first);
	return rc;
}
