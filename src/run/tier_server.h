/* SPDX-License-Identifier: Apache-2.0 */
/* tier_server.h - answers the other processes about the slots of a cache tier that are here. */
#pragma once

#include "run/tier_inside.h"

/*
 * A few threads, which sleep while nobody asks. A connection is one thread's while a question of it
 * is answered. Who says something else than a question is shut out.
 */
struct tier_server;

#define TIER_SERVERS 4u
#define TIER_SERVER_BYTES 65536u /* the buffer of each */

/* 0, or -errno with err. */
int tier_server_start(struct tier_server **out, struct tier_cache *c,
		      const struct tier_peers *peers, struct mlgen_err *err);
/* Joins the threads: 0, or -errno with err, what one of them has met. */
int tier_server_end(struct tier_server *s, struct mlgen_err *err);
/* Frees the server with what its threads have counted; NULL is fine. */
void tier_server_free(struct tier_server *s);
