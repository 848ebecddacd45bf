/* SPDX-License-Identifier: Apache-2.0 */
/* fio_options.h - the names of fio's job options, to refuse those mlgen lacks by name. */
#pragma once

struct fio_option {
	const char *name; /* NULL ends the table */
	const char *hint; /* what mlgen has instead, or NULL */
};

/* As `fio --cmdhelp=all` lists them, with their aliases. */
extern const struct fio_option fio_options[];

/* '-' and '_' alike. NULL = fio does not have it either. */
const struct fio_option *fio_option_find(const char *name);
