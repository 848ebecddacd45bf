/* SPDX-License-Identifier: Apache-2.0 */
/* json_each.h - the document of one process in a directory, replaced while its run goes on
 * (--json-each). */
#pragma once

#include <mlgen/err.h>

#include "job/job.h"
#include "run/run.h"

/*
 * What a run came to can be collected once, when its threads are done or given up. So a child is
 * forked, which has all of it as it is at that moment, writes DIRECTORY/rank-N.json and ends;
 * nobody of the run knows of it, and what it costs is the copy of the page tables. It sends
 * nothing, takes no lock that the run's threads hold over more than some lines, and is ended after
 * some seconds: then the document of before stays.
 */
struct json_each;

/*
 * The directory is made where it is missing. Documents of ranks that this run, of this many
 * processes, does not have are of a larger one before it: they are removed when the first one is
 * written, since whoever reads all of them would add them up. A file by such a name that mlgen has
 * not written is refused. 0, or -errno with err.
 */
int json_each_new(struct json_each **out, const struct jobset *set, unsigned rank,
		  unsigned processes, struct mlgen_err *err);
/* Of a run that goes on: its jobs are not complete in it. One at a time: while one is written
 * nothing is begun. NULL is fine. */
void json_each_begin(struct json_each *e, struct run *run);
/* The run is over: what it came to. 0, or -errno with err; NULL is fine. */
int json_each_end(struct json_each *e, const struct run_result *result, struct mlgen_err *err);
void json_each_free(struct json_each *e);
