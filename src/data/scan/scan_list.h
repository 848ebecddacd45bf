/* SPDX-License-Identifier: Apache-2.0 */
/* scan_list.h - the files that a list names, for a scan. */
#pragma once

#include <mlgen/err.h>

#include "data/scan/scan_places.h"

struct walk;

/*
 * One path a line, with LF or CRLF behind it; empty lines say nothing. Relative ones are below the
 * request's directory, or where it has none below the list's folder. "-" is standard input: what is
 * no file is copied to one without a name, which becomes standard input, so that a run that is
 * repeated in this process reads the same list again.
 *
 * With two columns behind each path, PATH TAB OFFSET TAB LENGTH, a line is a sample of so many
 * bytes there, and a path may stand in many lines: the scan has them (listed.h). Either all lines
 * have columns or none has.
 *
 * What is not there, and no file, is counted and told with its line, for scan_judge. 0, or -errno
 * with err: a list that cannot be read twice (a FIFO), a line that is no path, or no sample of the
 * file, no line that is one.
 */
int scan_list_read(struct walk *w, struct places *p);
