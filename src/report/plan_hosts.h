/* SPDX-License-Identifier: Apache-2.0 */
/* plan_hosts.h - what each process of a job plans becomes one plan of all. */
#pragma once

#include "hosts/hosts.h"
#include "report/plan_report.h"

/*
 * Together, behind plan_make of each: rank 0's plans then say what all processes do. What they have
 * in flight, move, and play of checkpoints adds up; memory that mlgen needs is that of a host's
 * processes, of the host that needs most; and what another process would be refused for is a FAIL
 * with its host in front, where rank 0 does not say the same. 0, or -EPIPE with err.
 */
int plan_join(struct plan_report *plans, size_t count, struct hosts *h, struct mlgen_err *err);
