/* SPDX-License-Identifier: Apache-2.0 */
/* host_look.h - the host, beside a look at its jobs: time of day, CPUs, memory, network. */
#pragma once

#include "run/live.h"

/* The CPUs are those of the host: read once per interval, however many jobs have a row for it. */
struct host_look;

struct host_look *host_look_new(void);
void host_look_free(struct host_look *h);

/* Between two looks at a job, by the run's clock; log_ns stays 0. The text of `time` is valid until
 * the next call. */
void host_look(struct host_look *h, struct live_host *out, uint64_t now_ns, uint64_t before_ns);
