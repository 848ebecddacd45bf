/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - see devices.h. */
#include "run/devices.h"

#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "job/job.h"

/* "/dev/vda1, ext4 at / (virtio)"; "tmpfs at /tmp: this is memory". */
static void put_mount(struct buf *to, const struct mount *m)
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

static bool is_same_mount(const struct mount *a, const struct mount *b)
{
	return strcmp(a->type, b->type) == 0 && strcmp(a->source, b->source) == 0 &&
	       strcmp(a->target, b->target) == 0;
}

/* Two mounts a job: that of its files, and that of its checkpoints. */
static const struct mount *mount_of(const struct slot *slots, size_t i)
{
	return i % 2 ? &slots[i / 2].checkpoint_mount : &slots[i / 2].mount;
}

static bool is_named(const struct slot *slots, size_t at)
{
	bool is_same = false;

	for (size_t i = 0; i < at && !is_same; i++)
		is_same = is_same_mount(mount_of(slots, i), mount_of(slots, at));
	return is_same;
}

static void tell_drops(const struct slot *s)
{
	const struct job *j = s->job;

	if (!slot_drops_caches(s) || job_kept(j)->has_named_device)
		return;
	if (job_work(j)->restores)
		log_note("%s: drop_caches=run: its files leave this host's page cache before it "
			 "reads, and all that is in there does if more than 1%% of them stays",
			 j->name);
	else
		log_note("%s: drop_caches=%s: this host's page cache is emptied of everything, "
			 "other programs' files too",
			 j->name, j->drop_caches == DROP_CACHES_EPOCH ? "epoch" : "run");
}

void devices_tell(const struct slot *slots, size_t count)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < 2 * count; i++) {
		const struct job *j = slots[i / 2].job;
		const struct mount *m = mount_of(slots, i);

		if (!m->type[0] || job_kept(j)->has_named_device || is_named(slots, i))
			continue;
		buf_reset(&text);
		put_mount(&text, m);
		log_plain("%s: %s on %s", j->name, i % 2 ? "checkpoints" : "files", buf_str(&text));
	}
	for (size_t i = 0; i < count; i++)
		tell_drops(&slots[i]);
	for (size_t i = 0; i < count; i++)
		job_kept(slots[i].job)->has_named_device = true;
	buf_fini(&text);
}
