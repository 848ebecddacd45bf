/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_write.c - the missing files of a dataset are written, by one process or by all of a job;
 * see prepare_inside.h. */
#include "run/prepare_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/count.h"
#include "base/log.h"
#include "base/units.h"
#include "data/file/file.h"
#include "hosts/hosts.h"
#include "run/datafolder.h"

/* Of several processes: what rank 0 has found, and whether there is anything to write. */
struct prepare_order {
	bool writes, is_fresh, looks_inside;
	bool trusted[2], ours[2];
	uid_t maker;
};

uint64_t prepare_bytes_of(const struct dataset *ds)
{
	struct dataset_totals t = { 0 };

	if (ds)
		dataset_totals(ds, &t);
	return t.bytes;
}

void prepare_all_missing(struct prepare *p)
{
	count_set(&p->maker.missing_files, datafiles_count(&p->files));
	count_set(&p->maker.missing_bytes, prepare_bytes_of(p->ds) + prepare_bytes_of(p->eval));
}

static int write_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	uint64_t in_set = index;
	int r = p->trusted[datafiles_set(&p->files, &in_set)];

	if (index % hosts_total(p->req->hosts) != hosts_rank(p->req->hosts))
		return 0;
	if (r == 0 && !p->is_fresh)
		r = datafile_look(&p->files, w, index, err);
	if (r)
		return r < 0 ? r : 0;
	return datafile_write(&p->files, &p->maker, w, index, err);
}

static int sync_folder(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct prepare *p = w->owner;

	return datafolder_sync(&p->files, w, index, err);
}

/* Writing all of them */

static void prepare_write_announce(const void *arg, const char *time)
{
	const struct prepare *p = arg;
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	char present[UNITS_TEXT_BYTES], kept[64] = "", by[64] = "";
	uint64_t missing = p->missing_files;

	if (hosts_total(p->req->hosts) > 1)
		snprintf(by, sizeof(by), "by %u processes, ", hosts_total(p->req->hosts));

	if (count_get(&p->maker.present_files))
		snprintf(kept, sizeof(kept), "%s there already; ",
			 units_human_count(present, count_get(&p->maker.present_files)));
	log_plain("%s: writing %s %s file%s, %s to %s (%s%s%s)", p->req->job_name,
		  units_human_count(files, missing), p->ds->format->name, missing == 1 ? "" : "s",
		  units_human_bytes(bytes, (double)p->missing_bytes), p->ds->directory, kept, by,
		  time);
}

static void announce_nothing(const void *arg, const char *time)
{
	(void)arg;
	(void)time;
}

int prepare_end_together(const struct prepare *p, int r, struct mlgen_err *err)
{
	struct hosts *h = p->req->hosts;
	uint64_t stopped = 0;
	int rc = hosts_agree(h, r < 0 ? r : 0, err);

	if (rc == 0)
		rc = hosts_vote(h, r == CREW_STOPPED, &stopped, err);
	return rc == 0 && stopped ? CREW_STOPPED : rc;
}

/* Its share of them, as of what all are told. */
static int write_share(struct prepare *p, struct mlgen_err *err)
{
	const struct crew_task task = { write_file, p, datafiles_count(&p->files) };
	unsigned n = hosts_total(p->req->hosts);
	bool says = hosts_rank(p->req->hosts) == 0;

	p->missing_files = count_get(&p->maker.missing_files);
	p->missing_bytes = count_get(&p->maker.missing_bytes);
	count_set(&p->maker.missing_files, (p->missing_files + n - 1) / n);
	count_set(&p->maker.missing_bytes, (p->missing_bytes + n - 1) / n);
	filemaker_begin(&p->maker);
	return filemaker_run(&p->maker, &task, says ? prepare_write_announce : announce_nothing, p,
			     err);
}

int prepare_tell(struct prepare *p, bool writes, struct mlgen_err *err)
{
	const struct prepare_order order = {
		.writes = writes,
		.is_fresh = p->is_fresh,
		.looks_inside = p->files.looks_inside,
		.trusted = { p->trusted[0], p->trusted[1] },
		.ours = { p->files.ours[0], p->files.ours[1] },
		.maker = p->lock.maker,
	};
	struct buf b = { 0 };

	p->has_told = true;
	buf_addn(&b, (const char *)&order, sizeof(order));
	int rc = hosts_share(p->req->hosts, &b, err);
	buf_fini(&b);
	return rc;
}

static int sync_folders(struct prepare *p, struct mlgen_err *err)
{
	const struct crew_task task = { sync_folder, p, datafolders_count(&p->files) };

	return crew_run(&p->maker.crew, &task, err);
}

int prepare_write(struct prepare *p, struct mlgen_err *err)
{
	int r = prepare_tell(p, true, err);

	if (r < 0)
		return r;
	r = write_share(p, err);
	if (r == 0)
		r = sync_folders(p, err);
	return prepare_end_together(p, r, err);
}

/* A process that is not rank 0: until there is nothing more to write. */
static int prepare_write_follow(struct prepare *p, const struct prepare_order *order, bool *started,
				struct mlgen_err *err)
{
	p->is_fresh = order->is_fresh;
	p->files.looks_inside = order->looks_inside;
	for (unsigned i = 0; i < 2; i++) {
		p->trusted[i] = order->trusted[i];
		p->files.ours[i] = order->ours[i];
	}
	*started = true;
	int r = datadir_open(&p->files.dir, p->ds->directory, order->maker, err);
	bool is_open = r == 0;
	prepare_all_missing(p);
	if (r == 0)
		r = write_share(p, err);
	if (r == 0)
		r = sync_folders(p, err);
	r = prepare_end_together(p, r, err);
	if (is_open)
		datadir_close(&p->files.dir);
	return r;
}

int prepare_take_part(struct prepare *p, bool *started, struct mlgen_err *err)
{
	struct prepare_order order = { 0 };
	struct buf b = { 0 };
	int r = hosts_share(p->req->hosts, &b, err);

	if (r == 0)
		memcpy(&order, buf_str(&b), sizeof(order));
	buf_fini(&b);
	if (r < 0)
		return r;
	return order.writes ? prepare_write_follow(p, &order, started, err) : 0;
}
