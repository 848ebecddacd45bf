/* SPDX-License-Identifier: Apache-2.0 */
/* setup_checkpoints.c - the set-up that saving, restoring and training with checkpoints share. */
#include "work/checkpoint/writer/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/dataset/dataset.h"
#include "hosts/hosts.h"
#include "job/job.h"
#include "run/make/make.h"

static bool saves(const struct job *j)
{
	return job_has_checkpoints(j) && !job_work(j)->restores;
}

static int rule_readonly(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	if (!run->cfg.readonly || !saves(s->job) || !slot_touches_files(s))
		return 0;
	return mlgen_fail(
		err, -EPERM,
		"readonly: job '%s' saves checkpoints; run it without --readonly, or with %s",
		s->job->name,
		job_work(s->job)->checkpoints == CHECKPOINTS_OPTIONAL ? "checkpoint_every=0"
								      : "phase=restore");
}

/* Processes that never wait for each other cannot agree on the step after which a checkpoint by
 * time is due. */
static int rule_hosts(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct checkpoint_every every;

	if (hosts_total(run->cfg.hosts) == 1 || !s->checkpoint_directory ||
	    !job_work(s->job)->has_accelerators || s->job->barrier != BARRIER_NONE ||
	    job_checkpoint_every(s->job, &every, NULL) < 0 || every.unit != EVERY_TIME)
		return 0;
	return mlgen_fail(err, -EOPNOTSUPP,
			  "checkpoint_every: the %u processes of job '%s' can agree on a time only "
			  "at barriers, and the job has none; use steps or epochs, or barrier=step",
			  hosts_total(run->cfg.hosts), s->job->name);
}

static int rule_verify(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;

	(void)run;
	if (!job_work(j)->restores || j->verify == VERIFY_NONE || slot_touches_files(s))
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"verify: ioengine=%s reads nothing that could be checked; use verify=none",
		j->engine->name);
}

/* Are these paths of the same directory? Different paths are recognised once the directory
 * exists. */
static bool is_same_directory(const char *a, const char *b)
{
	struct stat x, y;

	return strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
				     x.st_ino == y.st_ino);
}

/* Two jobs that save into one directory at the same time would use the same names and delete each
 * other's checkpoints. */
static int check_alone(const struct slot *s, const struct run_shared *run, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < run->cfg.count && rc == 0; i++) {
		const struct job *other = run->cfg.jobs[i];

		if (other == s->job || other->group != s->job->group || !saves(other) ||
		    !saves(s->job))
			continue;
		char *directory = job_checkpoint_directory(other);
		if (is_same_directory(directory, s->checkpoint_directory))
			rc = mlgen_fail(
				err, -EINVAL,
				"checkpoint_directory: %s is used by '%s' and by '%s', which run "
				"at the same time; use stonewall, or another directory",
				directory, s->job->name, other->name);
		mem_free(directory);
	}
	return rc;
}

static bool has_files(const struct slot *s)
{
	return s->checkpoint_directory && slot_touches_files(s);
}

static int rule_alone(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	return has_files(s) ? check_alone(s, run, err) : 0;
}

/* Refuse foreign files. This rule runs before any job of the run has made files. */
static int rule_foreign(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return has_files(s) && saves(s->job)
		       ? foreign_check_checkpoints(s->checkpoint_directory, s->job, err)
		       : 0;
}

static int rule_mount(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return has_files(s) ? mount_read(&s->checkpoint_mount, s->checkpoint_directory, err) : 0;
}

static int rule_direct(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return has_files(s) && s->job->direct
		       ? mount_direct_alignment(s->checkpoint_directory,
						&s->checkpoints->align_bytes, err)
		       : 0;
}

/* A folder below the directory of a dataset is made together with the dataset. */
static int rule_directory(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const char *path = s->checkpoint_directory;
	size_t len = strlen(s->job->directory);
	bool is_below = job_work(s->job)->has_dataset && path &&
			strncmp(path, s->job->directory, len) == 0 && path[len] == '/';

	if (!has_files(s) || !saves(s->job) || run->cfg.readonly || is_below)
		return 0;
	return newdir_check(s->job,
			    s->job->checkpoint_directory ? "checkpoint_directory" : "directory",
			    path, err);
}

static int rule_writable(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return has_files(s) && saves(s->job)
		       ? filemaker_check_writable(s->checkpoint_directory, "checkpoints",
						  "--checkpoint_directory", err)
		       : 0;
}

const struct rule setup_checkpoints_rules[] = {
	{ "checkpoints", rule_hosts },     { "checkpoints", rule_readonly },
	{ "verify", rule_verify },         { "checkpoints", rule_alone },
	{ "checkpoints", rule_directory }, { "checkpoints", rule_foreign },
	{ "checkpoints", rule_writable },  { "room", rule_mount },
	{ "direct", rule_direct },         { NULL, NULL },
};

int setup_checkpoints_init(struct slot *s, struct mlgen_err *err)
{
	const struct job *j = s->job;
	struct job_checkpoints *c;

	if (!job_has_checkpoints(j))
		return 0;
	c = s->checkpoints = mem_zalloc(sizeof(*c));
	s->checkpoint_directory = job_checkpoint_directory(j);
	int rc = state_init(&c->state, j, err);
	if (rc == 0)
		rc = state_of_all_processes(&c->whole, &c->state, err);
	if (rc)
		return rc;
	/* setup_checkpoints_open adds the contents. */
	c->shards = (struct shard_set){
		.state = &c->state,
		.layout = layout_of(j),
		.is_plain = j->access == ACCESS_PLAIN,
		.bs = job_work(j)->restores ? j->bs.read : j->bs.write,
		.direct = j->direct,
	};
	c->whole_shards = c->shards;
	c->whole_shards.state = &c->whole;
	return 0;
}

uint64_t setup_checkpoints_files(const struct slot *s)
{
	return s->checkpoints ? writer_open_files(s->job, &s->checkpoints->shards) : 0;
}

void setup_checkpoints_need(const struct slot *s, uint64_t room_bytes, struct memneed *n)
{
	if (s->checkpoints)
		writer_need(n, s->job, &s->checkpoints->shards, room_bytes);
}

/* Report incomplete checkpoints as notes: they are not a fault if another run is saving at the
 * moment. */
static void report_unusable(const struct slot *s)
{
	const struct checkpoints *c = &s->checkpoints->in_directory;

	for (size_t i = 0; i < c->count; i++) {
		const struct checkpoint *k = &c->items[i];
		const char *then = "";
		char text[320] = "", who[256];

		if (k->is_complete)
			continue;
		if (saves(s->job) && checkpoint_is_protected(c, k))
			snprintf(text, sizeof(text), "; it %s, and is left alone",
				 checkpoint_print_writer(c, k, who, sizeof(who)));
		else if (saves(s->job) && (s->job->checkpoint_keep || k->place == CHECKPOINT_OLD))
			then = "; it will be deleted";
		log_note("%s: %s/%s is not complete, and will never be restored%s%s", s->job->name,
			 c->directory, k->name, text, then);
	}
	for (size_t i = 0; i < c->foreign_count; i++)
		log_note("%s: %s/%s: %s; it is left alone", s->job->name, c->directory,
			 c->foreign[i].name, c->foreign[i].why);
}

/* Report checkpoints of other processes, which may still be running. */
static void report_left_alone(const struct slot *s)
{
	const struct checkpoints *c = &s->checkpoints->in_directory;
	const struct checkpoint *first = NULL;
	char who[256];
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct checkpoint *k = &c->items[i];

		if (!k->is_complete || !checkpoint_is_protected(c, k))
			continue;
		first = first ? first : k;
		n++;
	}
	if (n && saves(s->job) && s->job->checkpoint_keep)
		log_note("%s: checkpoint_keep leaves %zu checkpoint%s of other processes alone: "
			 "%s/%s %s%s; --replace treats them as its own",
			 s->job->name, n, n == 1 ? "" : "s", c->directory, first->name,
			 checkpoint_print_writer(c, first, who, sizeof(who)),
			 n == 1 ? "" : ", and so on");
}

int setup_checkpoints_open(struct slot *s, const struct run_shared *run, struct mlgen_err *err)
{
	struct job_checkpoints *c = s->checkpoints;

	c->content = content_new(writer_span_bytes(s->job), s->job->randseed);
	c->shards.content = c->whole_shards.content = c->content;
	int rc = checkpoints_open(&c->in_directory, s->checkpoint_directory, &c->whole_shards, err);
	c->in_directory.replaces = run->cfg.replace;
	c->in_directory.only_adds = hosts_rank(run->cfg.hosts) != 0;
	if (rc == 0 && hosts_rank(run->cfg.hosts) == 0) {
		report_unusable(s);
		report_left_alone(s);
	}
	return rc;
}

int setup_checkpoints_place(struct slot *s, const struct run_shared *run, uint64_t count,
			    struct mlgen_err *err)
{
	struct job_checkpoints *c = s->checkpoints;
	bool is_beside = job_work(s->job)->has_accelerators;
	int rc = checkpoints_check_next(&c->in_directory, is_beside ? 0 : UINT64_MAX, err);

	if (rc == 0)
		rc = checkpoints_check_room(&c->in_directory, count, s->job->checkpoint_keep, err);
	if (rc == 0)
		rc = checkpoints_prepare(&c->in_directory, err);
	/* Check again: the directory may not have existed before. */
	return rc == 0 && slot_touches_files(s) ? check_alone(s, run, err) : rc;
}

int setup_checkpoints_writer(struct slot *s, struct run_shared *run,
			     struct mlgen_engine_job *beside, struct mlgen_err *err)
{
	struct job_checkpoints *c = s->checkpoints;
	const struct writer_config cfg = {
		.job = s->job,
		.set = &c->shards,
		.checkpoints = &c->in_directory,
		.place = &s->place,
		.traced = &s->traced,
		.clock = run->cfg.clock,
		.failure = &run->failure,
		.interrupted = &run->interrupted,
		.stop = &s->progress.stop,
		.hosts = run->cfg.hosts,
		.channel = run->channels + (uint32_t)run->cfg.count + (uint32_t)(s - s->all),
		.workers = &s->workers,
		.is_restore = job_work(s->job)->restores,
		.align_bytes = c->align_bytes,
		.beside = beside,
	};

	return writer_new(&c->writer, &cfg, err);
}

void setup_checkpoints_end(struct slot *s)
{
	struct job_checkpoints *c = s->checkpoints;

	if (!c)
		return;
	c->shards.content = c->whole_shards.content = NULL;
	content_free(c->content);
	c->content = NULL;
}

void setup_checkpoints_fini(struct slot *s)
{
	struct job_checkpoints *c = s->checkpoints;

	if (!c)
		return;
	writer_free(c->writer);
	setup_checkpoints_end(s);
	checkpoints_fini(&c->in_directory);
	ranges_fini(&c->whole.local);
	state_fini(&c->state);
	mem_free(c);
	s->checkpoints = NULL;
	mem_free(s->checkpoint_directory);
	s->checkpoint_directory = NULL;
}
