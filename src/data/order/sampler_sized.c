/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_sized.c - extents of different numbers of samples: how many are before a position. */
#include "data/order/order_internal.h"

/*
 * In an order that is a permutation no formula says how many samples are before a position: they
 * are those of all extents before it. What is kept is the position that was asked for last: who
 * reads goes on from there.
 */

static uint64_t samples_here(struct sampler_epoch *e)
{
	struct extent x;

	dataset_extent(e->sampler->dataset, sampler_at(e, e->place.rank, e->place.position), &x);
	return x.samples;
}

static void forward(struct sampler_epoch *e)
{
	e->place.samples_before += samples_here(e);
	e->place.position++;
}

static void back(struct sampler_epoch *e)
{
	e->place.position--;
	e->place.samples_before -= samples_here(e);
}

static struct sampler_place *place_of(struct sampler_epoch *e, uint64_t rank)
{
	if (!e->place.is_known || e->place.rank != rank)
		e->place = (struct sampler_place){ .is_known = true, .rank = rank };
	return &e->place;
}

uint64_t sampler_sized_before(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	struct sampler_place *p = place_of(e, rank);

	while (p->position < position)
		forward(e);
	while (p->position > position)
		back(e);
	return p->samples_before;
}

uint64_t sampler_sized_position(struct sampler_epoch *e, uint64_t rank, uint64_t samples)
{
	struct sampler_place *p = place_of(e, rank);

	while (p->position > 0 && p->samples_before >= samples)
		back(e);
	while (p->samples_before < samples)
		forward(e);
	return p->position;
}
