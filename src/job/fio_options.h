/* SPDX-License-Identifier: Apache-2.0 */
/* fio_options.h - the names of fio's options: to refuse what mlgen lacks by name, to accept what
 * changes nothing. */
#pragma once

#include <stdbool.h>

struct fio_option {
	const char *name; /* NULL ends the table */
	const char *hint; /* what mlgen has instead, or NULL */
	const char *note; /* why it changes nothing; NULL = it would */
	const char *when; /* the note holds for these values, a|b; NULL = all */
};

/*
 * Of jobs, as `fio --cmdhelp=all` lists them, with their aliases, and of its engines. What mlgen
 * has itself is in it, too, without hint and note.
 */
extern const struct fio_option fio_options[];

/* '-' and '_' alike. NULL = fio does not have it either. */
const struct fio_option *fio_option_find(const char *name);

/* Does a job run as in fio without it? NULL for `o` is no. */
bool fio_option_is_harmless(const struct fio_option *o, const char *value);
