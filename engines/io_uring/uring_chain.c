/* SPDX-License-Identifier: Apache-2.0 */
/* uring_chain.c - chains: the linked open, reads and close of a file. */
#include "io_uring.h"

unsigned uring_chain_len(struct mlgen_io **io, unsigned n)
{
	unsigned len = 1;

	while (len < n && io[len - 1]->flags & MLGEN_IO_LINK)
		len++;
	return len;
}

/* A chain is submitted whole, and its file needs a slot. */
bool uring_chain_fits(const struct worker_ring *r, struct mlgen_io **io, unsigned len)
{
	return io_uring_sq_space_left(&r->uring) >= len &&
	       (io[0]->op != MLGEN_OPEN || r->free_slots.count);
}

/* Fail a chain: no slot is free, and no operation in flight will free one. */
void uring_chain_refuse(struct worker_ring *r, struct mlgen_io **io, unsigned len)
{
	uring_done(r, io[0], -EMFILE);
	for (unsigned i = 1; i < len; i++)
		uring_done(r, io[i], -ECANCELED);
}

/*
 * All links are hard except the link of the open. A short read ends a soft chain: the close after
 * it would never run, and the slot would be lost.
 */
void uring_chain_link(struct io_uring_sqe *sqe, const struct mlgen_io *op)
{
	sqe->flags |= op->op == MLGEN_OPEN ? IOSQE_IO_LINK : IOSQE_IO_HARDLINK;
}
