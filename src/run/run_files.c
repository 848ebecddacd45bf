/* SPDX-License-Identifier: Apache-2.0 */
/* run_files.c - the files of a run: jobs that share them, their devices, and their preparation. */
#include "run/run_internal.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "hosts/hosts.h"
#include "job/job.h"
#include "run/make/make.h"
#include "run/slot/slot.h"

static bool has_files(const struct slot *s)
{
	return slot_has_dataset(s) && slot_touches_files(s);
}

/* Two jobs with the same directory must describe the same dataset. */
static int check_shared(const struct slot *a, const struct slot *b, struct mlgen_err *err)
{
	static const char *const same[] = { "format",      "samples_per_file", "subfolders",
					    "sample_size", "dataset",          "label_size",
					    "columns",     "row_group_size" };
	struct buf of_a = { 0 }, of_b = { 0 };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(same) && rc == 0; i++) {
		buf_reset(&of_a);
		buf_reset(&of_b);
		job_option_text(a->job, same[i], &of_a);
		job_option_text(b->job, same[i], &of_b);
		if (strcmp(buf_str(&of_a), buf_str(&of_b)) != 0)
			rc = mlgen_fail(err, -EINVAL,
					"%s: dataset %s is also used by %s, with %s=%s, but this "
					"job has %s; use another directory for one of them",
					b->job->name, b->dataset.directory, a->job->name, same[i],
					buf_str(&of_a), buf_str(&of_b));
	}
	buf_fini(&of_a);
	buf_fini(&of_b);
	return rc;
}

static bool have_same_directory(const struct slot *a, const struct slot *b)
{
	return has_files(a) && has_files(b) &&
	       strcmp(a->dataset.directory, b->dataset.directory) == 0;
}

void shared_find(struct slot *slots, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct slot *s = &slots[i];

		s->largest = s;
		for (size_t k = 0; k < count; k++)
			if (have_same_directory(s, &slots[k]) &&
			    slots[k].dataset.files > s->largest->dataset.files)
				s->largest = &slots[k];
	}
}

int shared_check(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	int rc = 0;

	(void)run;
	for (const struct slot *other = s->all; other < s && rc == 0; other++)
		if (have_same_directory(other, s))
			rc = check_shared(other, s, err);
	return rc;
}

/* Append a mount: "/dev/vda1, ext4 at / (virtio)", or "tmpfs at /tmp: this is memory". */
static void append_mount(struct buf *to, const struct mount *m)
{
	bool has_source =
		m->source[0] && strcmp(m->source, "none") != 0 && strcmp(m->source, m->type) != 0;

	buf_addf(to, "%s%s%s", has_source ? m->source : "", has_source ? ", " : "", m->type);
	if (m->target[0] && strcmp(m->target, m->source) != 0)
		buf_addf(to, " at %s", m->target);
	if (m->is_memory)
		buf_add(to, ": this is memory");
	else if (m->device_kind[0])
		buf_addf(to, " (%s%s%s)", m->device_kind, m->device_model[0] ? ", " : "",
			 m->device_model);
}

/* Each job has two mounts: that of its files, and that of its checkpoints. */
static const struct mount *mount_of(const struct slot *slots, size_t i)
{
	return i % 2 ? &slots[i / 2].checkpoint_mount : &slots[i / 2].mount;
}

static bool is_printed(const struct slot *slots, size_t at)
{
	const struct mount *a = mount_of(slots, at);

	for (size_t i = 0; i < at; i++) {
		const struct mount *b = mount_of(slots, i);

		if (strcmp(a->type, b->type) == 0 && strcmp(a->source, b->source) == 0 &&
		    strcmp(a->target, b->target) == 0)
			return true;
	}
	return false;
}

void devices_print(const struct slot *slots, size_t count)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < 2 * count; i++) {
		const struct job *j = slots[i / 2].job;
		const struct mount *m = mount_of(slots, i);

		if (!m->type[0] || job_reuse(j)->has_printed_device || is_printed(slots, i))
			continue;
		buf_reset(&text);
		append_mount(&text, m);
		log_plain("%s: %s on %s", j->name, i % 2 ? "checkpoints" : "files", buf_str(&text));
	}
	for (size_t i = 0; i < count; i++) {
		const struct job *j = slots[i].job;

		if (!slot_drops_caches(&slots[i]) || job_reuse(j)->has_printed_device)
			continue;
		if (job_work(j)->restores)
			log_note("%s: drop_caches=run: its files are dropped from this host's page "
				 "cache before it reads; if more than 1%% of them stay, the whole "
				 "page cache is dropped",
				 j->name);
		else
			log_note("%s: drop_caches=%s: this host's whole page cache is emptied, "
				 "including files of other programs",
				 j->name, j->drop_caches == DROP_CACHES_EPOCH ? "epoch" : "run");
	}
	for (size_t i = 0; i < count; i++)
		job_reuse(slots[i].job)->has_printed_device = true;
	buf_fini(&text);
}

struct disk_count {
	const char *name; /* device of a slot's mount */
	struct devset devices;
	struct devstat before, after;
	bool is_known; /* both readings succeeded */
};

/* Add a device once, however many jobs have files there. */
static void disks_add(struct disks *d, const char *name)
{
	struct disk_count c = { .name = name };

	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->items[i].name, name) == 0)
			return;
	if (!*name || devset_counting(&c.devices, "", name))
		return;
	if (devset_read(&c.before, &c.devices, "")) {
		devset_fini(&c.devices);
		return;
	}
	d->items[d->count++] = c;
}

void disks_begin(struct disks *d, const struct slot *slots, size_t slot_count,
		 const struct clock *clock)
{
	d->items = mem_array(2 * slot_count, sizeof(*d->items));
	for (size_t i = 0; i < slot_count; i++) {
		disks_add(d, slots[i].mount.device);
		disks_add(d, slots[i].checkpoint_mount.device);
	}
	d->begin_ns = clock_now(clock);
}

void disks_end(struct disks *d, const struct clock *clock)
{
	if (atomic_exchange(&d->has_ended, true))
		return;
	for (size_t i = 0; i < d->count; i++) {
		struct disk_count *c = &d->items[i];

		c->is_known = devset_read(&c->after, &c->devices, "") == 0;
	}
	d->end_ns = clock_now(clock);
}

void disks_collect(struct run_result *out, const struct disks *d)
{
	double ms = (double)(d->end_ns - d->begin_ns) / 1e6;

	out->disks = mem_array(d->count, sizeof(*out->disks));
	for (size_t i = 0; i < d->count; i++) {
		const struct disk_count *c = &d->items[i];
		struct devstat n = c->after;

		if (!c->is_known)
			continue;
		devstat_subtract(&n, &c->before);
		struct disk_util u = { .read_ios = n.read_ios,
				       .write_ios = n.write_ios,
				       .read_sectors = n.read_sectors,
				       .write_sectors = n.write_sectors,
				       .read_merges = n.read_merges,
				       .write_merges = n.write_merges,
				       .read_ticks = n.read_ticks_ms,
				       .write_ticks = n.write_ticks_ms,
				       .in_queue = n.in_queue_ms };
		u.util = ms > 0 ? 100 * (double)n.io_ticks_ms / ms : 0;
		if (u.util > 100)
			u.util = 100;
		u.queue_depth = ms > 0 ? (double)n.in_queue_ms / ms : (double)NAN;
		memcpy(u.name, c->name, strnlen(c->name, sizeof(u.name) - 1));
		out->disks[out->disk_count++] = u;
	}
}

void disks_fini(struct disks *d)
{
	for (size_t i = 0; i < d->count; i++)
		devset_fini(&d->items[i].devices);
	mem_free(d->items);
}

struct slot *run_next_in_group(struct run *r, unsigned group, struct slot *after)
{
	struct slot *s = after ? after + 1 : r->slots;

	while (s < r->slots + r->shared.cfg.count && s->job->group != group)
		s++;
	return s < r->slots + r->shared.cfg.count ? s : NULL;
}

bool run_is_stopping(const struct run *r)
{
	return atomic_load(&r->shared.interrupted) || atomic_load(&r->shared.failure.is_set);
}

bool run_stops(struct run *r, bool ends)
{
	struct mlgen_err err = { 0 };
	uint64_t any = 0;

	ends |= run_is_stopping(r);
	if (hosts_vote(r->shared.cfg.hosts, ends, &any, &err) < 0)
		failure_set(&r->shared.failure, &err);
	else if (any && !ends)
		run_interrupt(r);
	return any || run_is_stopping(r);
}

/* Prepare in turns: rank 0 first, as the directory may be common to all hosts; then the first
 * process of each other host; then all other processes, which find the files that the first process
 * of their host made. */
static int prepare_in_turn(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	unsigned own_turn = hosts_rank(h) == 0 ? 0 : hosts_is_first_here(h) ? 1 : 2;
	int rc = 0;

	for (unsigned turn = 0; turn < 3; turn++) {
		if (turn == own_turn)
			rc = s->does->prepare(s, &r->shared, err);
		/* A process that was stopped takes part in the remaining turns. */
		int all = hosts_agree(h, rc < 0 ? rc : 0, err);
		if (all < 0)
			return all;
	}
	return rc;
}

static bool is_shared_dataset(const struct slot *s)
{
	return slot_has_dataset(s) && s->job->shared;
}

/* Do all hosts have the same directories? */
static int check_directories(struct hosts *h, const struct slot *s, struct mlgen_err *err)
{
	int rc = 0;

	if (is_shared_dataset(s))
		rc = shareddir_check(h, s->dataset.directory,
				     ", or set shared=0 if each host has its own dataset", err);
	if (rc == 0 && s->checkpoint_directory)
		rc = shareddir_check(h, s->checkpoint_directory, " as checkpoint_directory=", err);
	return rc;
}

int run_prepare(struct run *r, unsigned group, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	bool is_alone = hosts_total(h) == 1;
	int rc = 0;
	struct slot *s = NULL;

	while (!run_stops(r, rc != 0) && (s = run_next_in_group(r, group, s))) {
		if (!slot_touches_files(s))
			continue;
		rc = is_alone ? s->does->prepare(s, &r->shared, err) : check_directories(h, s, err);
		if (is_alone || rc < 0)
			continue;
		if (is_shared_dataset(s) || (s->checkpoint_directory && !slot_has_dataset(s))) {
			/* Processes that share a dataset, or checkpoints, make the files
			 * together. */
			rc = s->does->prepare(s, &r->shared, err);
			int all = hosts_agree(h, rc < 0 ? rc : 0, err);
			rc = all < 0 ? all : rc;
		} else {
			rc = prepare_in_turn(r, s, err);
		}
	}
	return rc;
}
