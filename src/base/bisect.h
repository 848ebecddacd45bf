/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.h - search in what is ordered. */
#pragma once

#include <stdint.h>

/*
 * The first `i` from `low` up to, but not including, `high` for which `condition`, an
 * expression that uses i, is true; `high` where it is true for none. The condition must be
 * false up to some i and true from there on. It is evaluated about log2(high - low) times.
 *
 *	size_t at = BISECT(i, 0, count, starts_ns[i] > now_ns);
 */
#define BISECT(i, low, high, condition)                                                            \
	({                                                                                         \
		uint64_t bisect_low_ = (low), bisect_high_ = (high);                               \
                                                                                                   \
		while (bisect_low_ < bisect_high_) {                                               \
			uint64_t i = bisect_low_ + (bisect_high_ - bisect_low_) / 2;               \
                                                                                                   \
			if (condition)                                                             \
				bisect_high_ = i;                                                  \
			else                                                                       \
				bisect_low_ = i + 1;                                               \
		}                                                                                  \
		bisect_low_;                                                                       \
	})
