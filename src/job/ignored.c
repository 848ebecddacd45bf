/* SPDX-License-Identifier: Apache-2.0 */
/* ignored.c - see ignored.h; fio(1), ignore_error. */
#include "job/ignored.h"
#include "job/workload.h"

#include <errno.h>
#include <mlgen/errors.h>
#include <stddef.h>
#include <string.h>

/* The list of number `kind`, 0 reads, 1 writes; *len 0 = none. */
static const char *list_of(const char *text, unsigned kind, size_t *len)
{
	*len = 0;
	for (; text && kind; kind--) {
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
	if (text)
		*len = strcspn(text, ",");
	return text;
}

static bool ignored_has(const char *list, size_t len, int code)
{
	for (const char *end = list + len; list < end;) {
		size_t word = strcspn(list, ":,");

		if (mlgen_error_code(list, word) == code)
			return true;
		list += word + 1;
	}
	return false;
}

int ignored_check(const char *text, struct mlgen_err *err)
{
	unsigned kinds = 1;
	size_t len;

	for (const char *at = text; at && (*at || at > text); at += len + 1) {
		len = strcspn(at, ":,");
		/* "ENOSPC" of writes alone is ",ENOSPC". */
		if (!mlgen_error_code(at, len) && !(at == text && *at == ','))
			return mlgen_fail(err, -EINVAL,
					  "'%.*s' is neither an error of storage by name, such as "
					  "EAGAIN or EIO, nor a number from 1 to %d",
					  (int)len, at, MLGEN_ERROR_MAX);
		kinds += at[len] == ',';
		if (kinds > 2)
			return mlgen_fail(
				err, -EINVAL,
				"'%s' has more than a list for reads and one for writes; errors of "
				"one list have colons between them, as EIO:EAGAIN",
				text);
		if (!at[len])
			break;
	}
	return 0;
}

/* Accelerators read: whatever fails of that is an error of reading. */
static bool only_reads(const struct job *j)
{
	return job_work(j)->has_accelerators;
}

bool ignored_any(const struct job *j)
{
	bool has_list = j->ignore_error && j->ignore_error[0];

	if (only_reads(j) && j->continue_on_error == CONTINUE_WRITE)
		return has_list; /* it writes nothing whose errors count */
	return has_list || j->continue_on_error != CONTINUE_NONE;
}

static bool continues(const struct job *j, enum mlgen_op op)
{
	bool is_read = op == MLGEN_READ || only_reads(j);

	switch (j->continue_on_error) {
	case CONTINUE_ALL:
		return true;
	case CONTINUE_IO:
		return is_read || op == MLGEN_WRITE;
	case CONTINUE_READ:
		return is_read;
	case CONTINUE_WRITE:
		return op == MLGEN_WRITE && !is_read;
	default:
		return false;
	}
}

bool ignored_counts(const struct job *j, enum mlgen_op op, int error)
{
	bool is_read = op == MLGEN_READ || only_reads(j);
	const char *list = NULL;
	size_t len = 0;

	if (is_read || op == MLGEN_WRITE)
		list = list_of(j->ignore_error, is_read ? 0 : 1, &len);
	return len ? ignored_has(list, len, -error) : continues(j, op);
}
