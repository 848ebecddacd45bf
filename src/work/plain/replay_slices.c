/* SPDX-License-Identifier: Apache-2.0 */
/* replay_slices.c - see replay_slices.h. */
#include "work/plain/replay_slices.h"

#include "base/util.h"

static void slice_add(struct replay_slice *to, const struct replay_slice *b)
{
	to->asked_ios += b->asked_ios;
	to->asked_bytes += b->asked_bytes;
	to->done_ios += b->done_ios;
	to->done_bytes += b->done_bytes;
}

/* Two become one. */
static void replay_slices_fold(struct replay_slices *s)
{
	for (size_t i = 0; i < REPLAY_SLICES; i++) {
		struct replay_slice both = { 0 };

		if (2 * i < REPLAY_SLICES)
			slice_add(&both, &s->slices[2 * i]);
		if (2 * i + 1 < REPLAY_SLICES)
			slice_add(&both, &s->slices[2 * i + 1]);
		s->slices[i] = both;
	}
	s->count = divide_up(s->count, 2);
	s->seconds *= 2;
}

void replay_slices_stretch(struct replay_slices *s, double seconds)
{
	/* Sums of halves may differ in the last digit. */
	while (s->seconds > 0 && s->seconds < seconds * .999)
		replay_slices_fold(s);
}

void replay_slices_add(struct replay_slices *s, double at, uint64_t bytes)
{
	size_t i;

	while (at >= s->seconds * REPLAY_SLICES)
		replay_slices_fold(s);
	i = (size_t)(at / s->seconds);
	if (i >= REPLAY_SLICES)
		i = REPLAY_SLICES - 1;
	s->slices[i].done_ios++;
	s->slices[i].done_bytes += bytes;
	s->count = u64_max(s->count, i + 1);
}

void replay_slices_merge(struct replay_slices *to, const struct replay_slices *b)
{
	struct replay_slices other = *b;

	replay_slices_stretch(to, other.seconds);
	replay_slices_stretch(&other, to->seconds);
	for (size_t i = 0; i < REPLAY_SLICES; i++)
		slice_add(&to->slices[i], &other.slices[i]);
	to->count = u64_max(to->count, other.count);
}
