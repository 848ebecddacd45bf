/* SPDX-License-Identifier: Apache-2.0 */
/* same_job.h - do all processes have the same job? */
#pragma once

#include "hosts/hosts.h"

/*
 * Together: each gives its job as lines "option=value", with comments, which do not count. 0, or
 * -EINVAL with err: which host differs in which option. The number of accelerators may differ.
 */
int hosts_same_job(struct hosts *h, const char *job, struct mlgen_err *err);
