/* SPDX-License-Identifier: Apache-2.0 */
/* settings_capture.h - what --capture takes: a command behind --, a process or a control group, and
 * no job. */
#pragma once

#include "job/diag.h"
#include "job/settings.h"

/* Faults of a command line with --capture go to `d`. `command` is what stands behind "--",
 * NULL-ended; NULL = there is none. */
void settings_check_capture(const struct settings *s, char *const *command, struct diag *d);
