/* SPDX-License-Identifier: Apache-2.0 */
/* cache_words.c - the policies of a cache, one word and one sentence each. */
#include "job/cache_words.h"

#include "job/job.h"

/* clang-format off */
const struct mlgen_choice cache_policies[] = {
	{ "none", CACHE_NONE, "there is no cache" },
	{ "lru", CACHE_LRU, "what was not read for longest makes room" },
	{ "fifo", CACHE_FIFO, "what came first makes room" },
	{ "lfu", CACHE_LFU, "what was read least often since it came makes room, of those what was not read for longest" },
	{ "random", CACHE_RANDOM, "any of them makes room" },
	{ "clock", CACHE_CLOCK, "what came first makes room, but what was read again since then has a second turn" },
	{ "minio", CACHE_MINIO, "what fits is kept, and nothing ever makes room (CoorDL, VLDB 2021)" },
	{ "importance", CACHE_IMPORTANCE, "the least important makes room, unless the newcomer is no more important (SHADE, FAST 2023); of shuffle=importance or weighted" },
	{ "belady", CACHE_BELADY, "what is read again last makes room, or the newcomer is not kept: of samples of one size no policy can hit more; of an order that is known" },
	{ "hot", CACHE_HOT, "the first of a ranking that fit are kept and no others" },
	{ 0 },
};
/* clang-format on */

const char *cache_word(int policy)
{
	const struct mlgen_choice *c = cache_policies;

	while (c->name && c->value != policy)
		c++;
	return c->name;
}
