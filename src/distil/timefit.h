/* SPDX-License-Identifier: Apache-2.0 */
/* timefit.h - times that were seen, as the distribution of an option. */
#pragma once

#include <stddef.h>

#include "base/dist.h"

struct buf;

struct timefit {
	struct dist dist;   /* rounded to four digits */
	double off_percent; /* how far it is from what was seen: W1 by the mean */
	double mean_ns, stdev_ns;
	double low_ns, high_ns; /* of all but a percent at either end */
};

/* Of sorted times, one at least. A constant where a third of them hardly differ, the mean of what
 * is near to these: others were held up. */
void timefit(struct timefit *f, const double *sorted_ns, size_t count);
/* "323ms", "normal:10ms:2ms". */
void timefit_format(struct buf *to, const struct dist *d);
/* One of so many ns, rounded as that. */
struct dist timefit_constant(double ns);
