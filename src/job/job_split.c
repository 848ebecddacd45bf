/* SPDX-License-Identifier: Apache-2.0 */
/* job_split.c - behind which of a sample's reads how much of its time is spent: preprocess_split,
 * first_sample_split. */
#include "job/job.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/* One READ/PERCENT. */
static int read_entry(char *text, struct job_read_share *out, struct mlgen_err *err)
{
	char *slash = strchr(text, '/');
	int rc;

	if (!slash)
		return mlgen_fail(err, -EINVAL,
				  "'%s' has no percentage; it is READ/PERCENT, as in 1/20:4/80",
				  text);
	*slash = '\0';
	rc = units_u64(text, &out->read, err);
	if (!rc && !out->read)
		rc = mlgen_fail(err, -EINVAL, "0 is no read; the first one is 1");
	if (!rc)
		rc = units_percent(slash + 1, &out->percent, err);
	if (!rc && (out->percent < 0 || out->percent > 100))
		rc = mlgen_fail(err, -EINVAL, "%s is not between 0%% and 100%%", slash + 1);
	return rc;
}

/* What relates entries. */
static int check(const struct job_read_share *shares, int n, struct mlgen_err *err)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		sum += shares[i].percent;
		if (i && shares[i].read <= shares[i - 1].read)
			return mlgen_fail(err, -EINVAL,
					  "read %" PRIu64 " is behind %" PRIu64
					  "; reads come in their order, each once",
					  shares[i].read, shares[i - 1].read);
	}
	/* Tenths and thirds do not sum exactly. */
	if (sum > 100 + 1e-9)
		return mlgen_fail(err, -EINVAL, "the percentages sum to %g, at most 100 can be",
				  sum);
	return n;
}

static int read_list(const char *list, struct job_read_share *shares, struct mlgen_err *err)
{
	int n = 0;

	for (const char *at = list;; at++) {
		size_t part = strcspn(at, ":");
		char *text;
		int rc;

		if (n == JOB_READ_SHARES_MAX)
			return mlgen_fail(err, -EINVAL, "more than %d reads", JOB_READ_SHARES_MAX);
		text = mem_strndup(at, part);
		rc = read_entry(text, &shares[n++], err);
		mem_free(text);
		if (rc)
			return -EINVAL;
		at += part;
		if (!*at)
			return check(shares, n, err);
	}
}

int job_read_shares(const char *list, struct job_read_share shares[JOB_READ_SHARES_MAX],
		    struct mlgen_err *err)
{
	return has_text(list) ? read_list(list, shares, err) : 0;
}
