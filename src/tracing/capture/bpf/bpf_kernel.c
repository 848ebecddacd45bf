/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_kernel.c - see bpf_kernel.h. */
#include "tracing/capture/bpf/bpf_kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/capture/bpf/bpf_calls.h"
#include "tracing/capture/bpf/bpf_object.h"
#include "tracing/capture/bpf/bpf_said.h"
#include "tracing/capture/bpf/bpf_suits.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* ---- load ---- */

static struct bpf_map *find_map(struct bpf_object *o, const char *name)
{
	return bpf_object__find_map_by_name(o, name);
}

static int fill_settings(struct bpf_object *o, uint64_t ring_bytes)
{
	struct bpf_map *map = find_map(o, ".rodata.settings");
	struct capture_settings s = { .wake_bytes = ring_bytes / 4 };
	int rc;

	for (long page = sysconf(_SC_PAGESIZE); page > 1; page /= 2)
		s.page_shift++;
	bpf_calls_fill(s.call_of);
	if (!map)
		return -EINVAL;
	rc = bpf_map__set_initial_value(map, &s, sizeof(s));
	return rc ? rc : bpf_map__set_max_entries(find_map(o, "ring"), (uint32_t)ring_bytes);
}

static int take_maps(struct bpf_kernel *k)
{
	struct bpf_map *shared = find_map(k->object, ".data.shared");
	struct bpf_map *threads = find_map(k->object, "threads");

	if (!shared || !threads)
		return -EINVAL;
	k->shared = mmap(NULL, sizeof(*k->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(shared), 0);
	if (k->shared == MAP_FAILED) {
		k->shared = NULL;
		return -errno;
	}
	k->threads_fd = bpf_map__fd(threads);
	k->thread_bytes = bpf_map__value_size(threads);
	k->ring_fd = bpf_object__find_map_fd_by_name(k->object, "ring");
	k->disks_fd = bpf_object__find_map_fd_by_name(k->object, "disks");
	k->requests_fd = bpf_object__find_map_fd_by_name(k->object, "requests");
	k->losses_fd = bpf_object__find_map_fd_by_name(k->object, "losses");
	return 0;
}

static int load_fail(int rc, struct mlgen_err *err)
{
	if (rc == -EPERM)
		return mlgen_fail(
			err, rc,
			"capture: the kernel refuses its programs: %s; run it under sudo, or give "
			"the program its rights by setcap cap_bpf,cap_perfmon+ep, and a container "
			"--cap-add BPF,PERFMON%s%s",
			strerror(-rc), *said_last() ? ". It said: " : "", said_last());
	return mlgen_fail(err, rc,
			  "capture: cannot load the programs for the kernel: %s. It said: %s",
			  strerror(-rc), said_last());
}

int kernel_load(struct bpf_kernel *k, uint64_t ring_bytes, struct buf *notes, struct mlgen_err *err)
{
	struct bpf_object_open_opts options = { .sz = sizeof(options), .object_name = "mlgen" };
	int rc;

	*k = (struct bpf_kernel){ 0 };
	said_quiet();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	k->object = bpf_object__open_mem(capture_object, capture_object_bytes, &options);
	if (!k->object) {
		rc = -errno;
		return load_fail(rc, err);
	}
	rc = suits_choose(k->object, notes, err);
	if (rc < 0)
		return rc;
	rc = fill_settings(k->object, ring_bytes);
	if (rc == 0)
		rc = bpf_object__load(k->object);
	if (rc == 0)
		rc = take_maps(k);
	return rc < 0 ? load_fail(rc, err) : 0;
}

/* ---- attach ---- */

int kernel_attach(struct bpf_kernel *k, struct mlgen_err *err)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, k->object)
	{
		if (!bpf_program__autoload(p) || !strcmp(bpf_program__name(p), "each_task") ||
		    k->link_count == KERNEL_LINKS_MOST)
			continue;
		struct bpf_link *link = bpf_program__attach(p);
		if (!link) {
			int rc = -errno;

			return mlgen_fail(err, rc, "capture: cannot attach %s to the kernel: %s",
					  bpf_program__name(p), strerror(-rc));
		}
		k->links[k->link_count++] = link;
	}
	return 0;
}

void kernel_detach(struct bpf_kernel *k)
{
	for (size_t i = 0; i < k->link_count; i++)
		bpf_link__destroy(k->links[i]);
	k->link_count = 0;
}

void kernel_close(struct bpf_kernel *k)
{
	kernel_detach(k);
	if (k->shared)
		munmap(k->shared, sizeof(*k->shared));
	bpf_object__close(k->object);
	k->object = NULL;
	k->shared = NULL;
}

/* ---- whom ---- */

int kernel_follow(struct bpf_kernel *k, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), rc = 0;
	void *state;

	if (fd < 0)
		return -errno;
	state = mem_zalloc(k->thread_bytes);
	if (bpf_map_update_elem(k->threads_fd, &fd, state, BPF_NOEXIST))
		rc = errno == EEXIST ? 0 : -errno;
	mem_free(state);
	close(fd);
	return rc;
}

/* Go over all tasks once. 0 or -errno. */
static int iterate(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, nothing, sizeof(nothing))) > 0)
		;
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

int kernel_spread(struct bpf_kernel *k, struct mlgen_err *err)
{
	struct bpf_program *p = bpf_object__find_program_by_name(k->object, "each_task");
	struct bpf_link *link = bpf_program__attach_iter(p, NULL);
	uint32_t before;
	int rc;

	if (!link) {
		rc = -errno;
		return mlgen_fail(err, rc, "capture: cannot go over all tasks: %s", strerror(-rc));
	}
	do {
		before = k->shared->tasks_added;
		rc = iterate(link);
	} while (rc == 0 && before != k->shared->tasks_added);
	bpf_link__destroy(link);
	if (rc < 0)
		return mlgen_fail(err, rc, "capture: cannot go over all tasks: %s", strerror(-rc));
	return 0;
}

/* ---- losses ---- */

struct capture_loss kernel_loss(const struct bpf_kernel *k, unsigned kind)
{
	int cpus = libbpf_num_possible_cpus();
	struct capture_loss all = { .first_ns = UINT64_MAX }, *each;

	if (cpus <= 0)
		return all;
	each = mem_array((size_t)cpus, sizeof(*each));
	if (bpf_map_lookup_elem(k->losses_fd, &kind, each) == 0)
		for (int i = 0; i < cpus; i++) {
			if (!each[i].events)
				continue;
			all.events += each[i].events;
			all.first_ns = u64_min(all.first_ns, each[i].first_ns);
			all.last_ns = u64_max(all.last_ns, each[i].last_ns);
		}
	mem_free(each);
	return all;
}

uint64_t kernel_missed(const struct bpf_kernel *k, struct buf *which)
{
	struct bpf_program *p;
	uint64_t sum = 0;

	bpf_object__for_each_program(p, k->object)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t bytes = sizeof(info);
		int fd = bpf_program__fd(p);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes) || !info.recursion_misses)
			continue;
		sum += info.recursion_misses;
		buf_addf(which, "%s%s", which->len ? ", " : "", bpf_program__name(p));
	}
	return sum;
}
