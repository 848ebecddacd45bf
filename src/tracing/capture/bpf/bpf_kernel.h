/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_kernel.h - the programs in the kernel: which of them it can run, loaded, attached, and their
 * maps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "tracing/capture/bpf/bpf_events.h"

struct bpf_object;
struct bpf_link;

#define KERNEL_LINKS_MOST 32

struct bpf_kernel {
	struct bpf_object *object;
	struct bpf_link *links[KERNEL_LINKS_MOST];
	size_t link_count;
	struct capture_shared *shared; /* mapped */
	int ring_fd, threads_fd, disks_fd, requests_fd, losses_fd;
	size_t thread_bytes; /* of a value of threads_fd */
};

/*
 * Load what this kernel can run: 0 or -errno with err. What it cannot goes to `notes`, a line each.
 * Nothing is attached yet. kernel_close takes a zeroed one, and one that is closed.
 */
int kernel_load(struct bpf_kernel *k, uint64_t ring_bytes, struct buf *notes,
		struct mlgen_err *err);
int kernel_attach(struct bpf_kernel *k, struct mlgen_err *err);
/* No event comes any more; maps can still be read. */
void kernel_detach(struct bpf_kernel *k);
void kernel_close(struct bpf_kernel *k);

/* Follow this process' first thread. -ESRCH: it is gone. */
int kernel_follow(struct bpf_kernel *k, pid_t pid);
/* And all threads and descendants of those followed; 0 or -errno with err. */
int kernel_spread(struct bpf_kernel *k, struct mlgen_err *err);

/* What one operation (or LOSS_...) lost on all CPUs. */
struct capture_loss kernel_loss(const struct bpf_kernel *k, unsigned kind);
/* How often programs could not run because they ran already, and which. */
uint64_t kernel_missed(const struct bpf_kernel *k, struct buf *which);

/* Would it work here? See capture_backend.probe. */
int kernel_probe(struct mlgen_err *err);
