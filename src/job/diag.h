/* SPDX-License-Identifier: Apache-2.0 */
/* diag.h - all faults of a job file and a command line, collected, told once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Where a fault is: file NULL = the command line, line 0 = none. */
struct diag_place {
	const char *file; /* not owned; lives as long as the jobset */
	unsigned line;
};

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag_entry {
	enum diag_level level;
	struct diag_place at;
	char *text;
};

/* A file of noise has a fault a line: the first of them tell enough. */
#define DIAG_ERRORS_OF_FILE 20
#define DIAG_MAX 100

struct diag_file {
	const char *file; /* NULL = the command line */
	size_t errors;    /* all of them */
};

/* At most DIAG_ERRORS_OF_FILE errors of each file are kept, and DIAG_MAX warnings and as many
 * notes; `errors` counts all. */
struct diag {
	struct diag_entry *entries;
	size_t count, errors;
	struct diag_file *files; /* those that have errors */
	size_t file_count;
};

void diag_init(struct diag *d);
void diag_fini(struct diag *d);

/*
 * Add one; the same text at the same place is kept once. It is made printable (printable.h), as the
 * names of files are when they are printed.
 */
__attribute__((format(printf, 4, 5))) void diag_add(struct diag *d, enum diag_level level,
						    struct diag_place at, const char *fmt, ...);

/* Would one more error of this file be kept? */
bool diag_has_room(const struct diag *d, const char *file);

/*
 * Print all, in the order file, line: "unet3d.job:12: prefetch: ..." for errors, "unet3d.job:12:
 * warning: ..." and "...: note: ..." for the others;
 * of the command line "mlgen: ...". Errors of a file that were not kept are counted in one line;
 * warnings and notes are left out then.
 */
void diag_print(const struct diag *d, FILE *to);
