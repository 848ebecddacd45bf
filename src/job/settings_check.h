/* SPDX-License-Identifier: Apache-2.0 */
/* settings_check.h - what relates two options of the program. */
#pragma once

#include "job/diag.h"
#include "job/question.h"
#include "job/settings.h"

/* What goes with one question only stands with that one; faults go to `d`. The one that is asked
 * may be NULL. */
void settings_check(const struct settings *s, const struct question *questions,
		    const struct question *asked, struct diag *d);
