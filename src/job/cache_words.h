/* SPDX-License-Identifier: Apache-2.0 */
/* cache_words.h - the policies of a cache, one word and one sentence each. */
#pragma once

#include <mlgen/field.h>

/* Of the option cache, which takes these for its choices, and of the answer to miss-curve; what
 * each of them does is a row of data/cache/cache.c. */
extern const struct mlgen_choice cache_policies[];

/* The word of an enum job_cache. */
const char *cache_word(int policy);
