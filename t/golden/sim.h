/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - one thread at a time, in virtual time: what makes a whole run of mlgen repeatable. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * The binary of the golden files is mlgen as it is, linked with --wrap for the calls of libc
 * through which time, threads and the machine come in. Nothing of mlgen's own is replaced, so the
 * files outlive any move of its code.
 *
 * Of all threads one runs, until it waits (a futex, a join, a signal, a mutex) or does I/O; then
 * the one that has been ready longest goes on. When none is ready, time jumps to the nearest
 * deadline. So the same arguments give the same order of everything, and the same figures to the
 * last digit.
 */

/* Since the machine was switched on. */
uint64_t sim_now_ns(void);
/* The calling thread's number in the order of creation; 0 is the main one. */
unsigned sim_thread(void);
/* The calling thread waits until then, and others run. */
void sim_sleep_until(uint64_t deadline_ns);

/* An option of the simulation, from the environment. */
uint64_t sim_option(const char *name, uint64_t otherwise);

/* What storage has done so far, for the counters of /proc and /sys. */
struct sim_storage {
	uint64_t reads, read_bytes, writes, written_bytes, busy_ns;
};
const struct sim_storage *sim_storage(void);
/* Remember what the file of a descriptor is called: latencies follow from it. */
void sim_opened(int fd, const char *path);
/* Let an open for reading, a transfer or a flush take its time. */
void sim_open_takes(void);
void sim_read_takes(int fd, uint64_t off, ssize_t bytes);
void sim_write_takes(int fd, uint64_t off, ssize_t bytes);
void sim_flush_takes(int fd);
