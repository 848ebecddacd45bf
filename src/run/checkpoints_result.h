/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints_result.h - what was measured of the checkpoints of a job, each and all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/metric.h"

struct hist;

/* Where the threads of the ranks were while checkpoints were under way: percent of that time; sum
 * 100. write and read with what asynchronous engines take for submit and reap. */
struct rank_percent {
	double data, open, write, read, fsync, close, other;
};

/* One checkpoint, saved or restored. */
struct checkpoint_result {
	uint64_t number, epoch, step;
	char name[96];  /* of its directory */
	double seconds; /* until the slowest rank was done */
	uint64_t bytes, files, ranks;
	double bytes_per_sec; /* of all local ranks */
	uint64_t slowest_rank;
	double slowest_rank_seconds, slowest_rank_bytes_per_sec;
	double commit_seconds;                       /* rename and manifest, behind that */
	uint64_t deleted_checkpoints, deleted_files; /* checkpoint_keep */
	double delete_seconds;
	/* In a training: how long its accelerators stood still for it. */
	double snapshot_seconds, wait_seconds, stall_seconds;
	bool complete;
	char error[256]; /* "" = none */
};

#define CHECKPOINTS_KEPT 1024

/* A rank's part of one that is complete. */
struct checkpoint_rank {
	uint64_t number, rank; /* of the checkpoint, of the rank */
	double begin_seconds;  /* since the first checkpoint began */
	double seconds;        /* until its slowest thread was done */
};
#define CHECKPOINT_RANKS_KEPT 4096

/* The checkpoints of a job; what is NaN does not apply. Seconds are sums unless they say otherwise;
 * incomplete ones are in count and items alone. */
struct checkpoints_result {
	bool is_restore;
	const char *directory;         /* where they are; borrowed; NULL = unknown */
	struct metric_list items;      /* checkpoint_result, the first 1024; owned */
	struct metric_list rank_times; /* checkpoint_rank, the first 4096;
					* owned */
	uint64_t count, completed;
	uint64_t ranks, threads;       /* of this host */
	uint64_t job_ranks;            /* on all hosts */
	uint64_t bytes;                /* moved in all, of complete ones */
	uint64_t bytes_per_checkpoint; /* of the local ranks */
	double seconds_mean, seconds_min, seconds_max;
	double first_seconds, later_seconds; /* later: their mean */
	double bytes_per_sec;                /* all bytes by all seconds */
	double slowest_rank_bytes_per_sec;   /* MLPerf's score: the least of all */
	uint64_t slowest_rank, slowest_checkpoint;
	double stall_seconds, snapshot_seconds, wait_seconds;
	uint64_t deleted_checkpoints, deleted_files;
	double delete_seconds;
	struct rank_percent rank_percent;
	struct hist *open_ns, *write_ns, *read_ns, *fsync_ns, *close_ns, *rename_ns,
		*unlink_ns; /* the slot's or the saver's */
	bool durable;       /* every byte of the complete ones was flushed */
	/* Dirty or under writeback on this host at the end, of whomever; of that at most what was
	 * written. UINT64_MAX = not known. */
	uint64_t dirty_bytes, in_memory_bytes;
	bool verified;       /* verify= looked at every byte */
	bool caches_dropped; /* drop_caches was done */
	double wall_seconds; /* from the first begin to the last end */
};

/* None yet: count 0, and nothing is known. */
void checkpoints_result_init(struct checkpoints_result *r);
