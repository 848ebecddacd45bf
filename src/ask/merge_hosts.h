/* SPDX-License-Identifier: Apache-2.0 */
/* merge_hosts.h - what the processes of one job measured, as the one report of rank 0. */
#pragma once

#include "ask/merge_files.h"
#include "hosts/hosts.h"

/*
 * Together (hosts.h), with what each has measured. Rank 0 has in `own` that of all then, and in *m
 * of whom it is; of ranks of one host what the host has once (CPU, network, what storage delivered)
 * is counted once. A rank that is gone, or that ran other jobs, is left out, with a warning. Where
 * there is one process, and in all but rank 0, nothing changes. merge_fini in any case, behind the
 * report: `own` has borrowed from *m.
 */
void merge_hosts(struct merge *m, struct hosts *h, struct run_result *own, const struct ask *a);
