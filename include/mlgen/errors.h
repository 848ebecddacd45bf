/* SPDX-License-Identifier: Apache-2.0 */
/* errors.h - parse the names of storage errors, such as EIO or ENOSPC. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define MLGEN_ERROR_MAX 4095 /* MAX_ERRNO of the kernel */

/* Return the errno that a word of `len` characters stands for: a name in upper or lower case, or a
 * number from 1 to MLGEN_ERROR_MAX. 0 = neither. */
static inline int mlgen_error_code(const char *word, size_t len)
{
	/* clang-format off */
	static const struct {
		const char *name;
		int code;
	} names[] = {
		{ "EPERM", EPERM }, { "ENOENT", ENOENT }, { "EINTR", EINTR },
		{ "EIO", EIO }, { "ENXIO", ENXIO }, { "EBADF", EBADF },
		{ "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM }, { "EACCES", EACCES },
		{ "EBUSY", EBUSY }, { "EEXIST", EEXIST }, { "ENODEV", ENODEV },
		{ "EINVAL", EINVAL }, { "ENFILE", ENFILE }, { "EMFILE", EMFILE },
		{ "EFBIG", EFBIG }, { "ENOSPC", ENOSPC }, { "EROFS", EROFS },
		{ "ENODATA", ENODATA }, { "EBADMSG", EBADMSG },
		{ "EILSEQ", EILSEQ }, { "EDQUOT", EDQUOT },
		{ "ESTALE", ESTALE }, { "EREMOTEIO", EREMOTEIO },
		{ "EOPNOTSUPP", EOPNOTSUPP }, { "ETIMEDOUT", ETIMEDOUT },
		{ "ECANCELED", ECANCELED }, { "ESHUTDOWN", ESHUTDOWN },
	};
	/* clang-format on */
	int n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && strncasecmp(names[i].name, word, len) == 0)
			return names[i].code;
	for (size_t i = 0; i < len; i++) {
		if (word[i] < '0' || word[i] > '9' || n > MLGEN_ERROR_MAX)
			return 0;
		n = 10 * n + word[i] - '0';
	}
	return n <= MLGEN_ERROR_MAX ? n : 0;
}
