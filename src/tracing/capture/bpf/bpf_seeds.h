/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_seeds.h - the first ones that are followed. */
#pragma once

#include "tracing/capture/bpf/bpf_kernel.h"

/* 0, or -errno with err: it is gone, a kernel thread, or not ours to follow. */
int seed_process(struct bpf_kernel *k, pid_t pid, struct mlgen_err *err);

/* All processes of a control group and of those in it; one without any is an error, too. */
int seed_cgroup(struct bpf_kernel *k, const char *folder, struct mlgen_err *err);
