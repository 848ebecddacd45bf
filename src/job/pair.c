/* SPDX-License-Identifier: Apache-2.0 */
/* pair.c - sizes as options have them: alone, for reads and writes, or a share. */
#include "job/pair.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

static int parse_half(uint64_t *out, const char *text, size_t len, bool is_size, unsigned kb_base,
		      struct mlgen_err *err)
{
	char *half = NULL;
	int rc = 0;

	if (!len)
		return 0;
	half = mem_strndup(text, len);
	rc = is_size ? size_parse(out, half, kb_base, err) : units_u64(half, out, err);
	mem_free(half);
	return rc;
}

static void put_half(struct buf *out, uint64_t half, bool is_size)
{
	char text[UNITS_TEXT_BYTES];

	if (is_size)
		buf_add(out, units_put_size(text, half));
	else
		buf_addf(out, "%" PRIu64, half);
}

int size_parse(uint64_t *out, const char *text, unsigned kb_base, struct mlgen_err *err)
{
	const char *minus = *text ? strchr(text + 1, '-') : NULL;

	if (minus && minus[1] >= '0' && minus[1] <= '9')
		return mlgen_fail(err, -EINVAL,
				  "'%s' is a range, from which mlgen does not draw; write one size",
				  text);
	return units_size(text, kb_base, out, err);
}

int pair_parse(struct u64_pair *out, const char *text, bool is_size, unsigned kb_base,
	       struct mlgen_err *err)
{
	uint64_t unused = 0;
	uint64_t *halves[] = { &out->read, &out->write, &unused };
	const char *at = text;
	size_t n = 0, given = 0;

	for (;; at++) {
		size_t len = strcspn(at, ",");
		int rc = 0;

		rc = parse_half(halves[n++], at, len, is_size, kb_base, err);
		if (rc)
			return rc;
		given += len;
		at += len;
		if (!*at || n == 3)
			break;
	}
	if (*at || !given)
		return mlgen_fail(err, -EINVAL, "'%s': write one value, or READ,WRITE", text);
	if (n == 1)
		out->write = out->read;
	return 0;
}

void pair_format(struct buf *out, const struct u64_pair *pair, bool is_size)
{
	put_half(out, pair->read, is_size);
	if (pair->write == pair->read)
		return;
	buf_addc(out, ',');
	put_half(out, pair->write, is_size);
}

static bool is_percent(const char *text)
{
	size_t len = strlen(text);

	return len && text[len - 1] == '%';
}

static int parse_percent(double *out, const char *text, struct mlgen_err *err)
{
	int rc = units_percent(text, out, err);

	if (!rc && (*out < 0 || *out > 100))
		rc = mlgen_fail(err, -ERANGE, "%s is not between 0%% and 100%%", text);
	return rc;
}

int share_parse(struct size_share *out, const char *text, unsigned kb_base, struct mlgen_err *err)
{
	*out = (struct size_share){ 0 };
	return is_percent(text) ? parse_percent(&out->percent, text, err)
				: size_parse(&out->bytes, text, kb_base, err);
}

void share_format(struct buf *out, const struct size_share *share)
{
	char text[UNITS_TEXT_BYTES];

	if (share->percent > 0)
		buf_addf(out, "%s%%", units_put_f64(text, share->percent));
	else
		buf_add(out, units_put_size(text, share->bytes));
}

int u64_share_parse(struct u64_share *out, const char *text, struct mlgen_err *err)
{
	*out = (struct u64_share){ 0 };
	return is_percent(text) ? parse_percent(&out->percent, text, err)
				: units_u64(text, &out->count, err);
}

void u64_share_format(struct buf *out, const struct u64_share *share)
{
	char text[UNITS_TEXT_BYTES];

	if (share->percent > 0)
		buf_addf(out, "%s%%", units_put_f64(text, share->percent));
	else
		buf_addf(out, "%" PRIu64, share->count);
}

/* Length of the count in "5000 samples"; 0 = there is no such word. */
static size_t samples_at(const char *text)
{
	static const char *const words[] = { "samples", "sample" };
	size_t len = strlen(text);

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t word = strlen(words[i]);

		if (len <= word || strcmp(text + len - word, words[i]) != 0)
			continue;
		for (len -= word; len && text[len - 1] == ' ';)
			len--;
		return len;
	}
	return 0;
}

static int parse_samples(uint64_t *out, const char *text, size_t len, struct mlgen_err *err)
{
	char *count = mem_strndup(text, len);
	int rc = units_u64(count, out, err);

	mem_free(count);
	return rc;
}

int cache_size_parse(struct cache_size *out, const char *text, unsigned kb_base,
		     struct mlgen_err *err)
{
	size_t samples = samples_at(text);
	int rc = 0;

	*out = (struct cache_size){ 0 };
	if (samples)
		rc = parse_samples(&out->samples, text, samples, err);
	else if (is_percent(text))
		rc = units_percent(text, &out->percent, err);
	else
		rc = size_parse(&out->bytes, text, kb_base, err);
	if (rc == 0 && !out->bytes && !out->samples && !(out->percent > 0))
		return mlgen_fail(err, -ERANGE,
				  "'%s' holds nothing; write a size, a percentage such as 15%%, or "
				  "a count such as '5000 samples'",
				  text);
	return rc;
}

void cache_size_format(struct buf *out, const struct cache_size *size)
{
	char text[UNITS_TEXT_BYTES];

	if (size->percent > 0)
		buf_addf(out, "%s%%", units_put_f64(text, size->percent));
	else if (size->samples)
		buf_addf(out, "%" PRIu64 " samples", size->samples);
	else if (size->bytes)
		buf_add(out, units_put_size(text, size->bytes));
}
