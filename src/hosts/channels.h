/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h - barriers of all processes that may be under way side by side, each with a vote. */
#pragma once

#include "hosts/hosts.h"

/*
 * Each job of a run has its own barriers, and jobs run side by side; so each has a channel. At a
 * barrier of it every process arrives once, with votes; when all have, each is called with the OR
 * of these. That costs one message to rank 0 and one from it for each process.
 */
struct hosts_channel;

/* What a process is told: by the thread that receives, or in rank 0 by the one that arrives; one
 * call of a channel at a time, in the same order everywhere. */
struct hosts_waiter {
	void (*passed)(void *arg, uint64_t votes);
	void (*closed)(void *arg); /* once: none is passed any more */
};

/* So many numbers that no channel has yet: the first of them. All processes reserve alike. */
uint32_t hosts_reserve(struct hosts *h, uint32_t count);

/* Open one here; others may have come to it already. Never NULL. */
struct hosts_channel *hosts_open(struct hosts *h, uint32_t number,
				 const struct hosts_waiter *waiter, void *arg);
/* It is not opened here: nobody is to wait for this process. */
void hosts_refuse(struct hosts *h, uint32_t number);
/* No call comes once this has returned. NULL is fine. */
void hosts_shut(struct hosts_channel *c);

/* With no lock held that a waiter takes. */
void hosts_arrive(struct hosts_channel *c, uint64_t votes);
/* It comes no more: barriers wait for one less. */
void hosts_leave(struct hosts_channel *c);
/* Nobody is to wait any more; a barrier is passed by all or by none, so what counts is when rank 0
 * hears of it. Any thread, from a call of a waiter, too. */
void hosts_close(struct hosts_channel *c);
