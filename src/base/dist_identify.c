/* SPDX-License-Identifier: Apache-2.0 */
/* dist_identify.c - what a distribution is told by where its file may be gone. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/dist_file.h"
#include "base/units.h"

/* What the identity of a file begins with. */
#define FILE_HASH "file-"

void dist_identify(struct buf *out, const struct dist *d, enum dist_unit unit)
{
	char number[UNITS_TEXT_BYTES];

	if (d->kind == DIST_FILE)
		buf_addf(out, FILE_HASH "%016" PRIx64 ":%s", dist_file_hash(dist_file_of(d)),
			 units_put_f64(number, d->a));
	else
		dist_format(out, d, unit);
}

void dist_content(struct buf *out, const struct dist *d)
{
	if (d->kind == DIST_FILE)
		dist_file_put(out, dist_file_of(d));
}

int dist_recall(struct dist *d, const char *text, const char *content, enum dist_unit unit,
		struct mlgen_err *err)
{
	const char *colon = strchr(text, ':');
	struct dist_file *f;
	double mean;
	int rc;

	if (strncmp(text, FILE_HASH, strlen(FILE_HASH)) != 0 || !colon)
		return dist_parse(d, text, unit, NULL, 1024, err);
	rc = units_f64(colon + 1, &mean, err);
	if (rc == 0 && !(mean > 0 && mean <= DIST_VALUE_MAX))
		rc = mlgen_fail(err, -ERANGE, "'%s': is no mean", colon + 1);
	if (rc == 0)
		rc = dist_file_recall(&f, content ? content : "", err);
	if (rc)
		return rc;
	dist_file_put_into(d, f);
	d->a = mean;
	return 0;
}
