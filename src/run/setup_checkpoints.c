/* SPDX-License-Identifier: Apache-2.0 */
/* setup_checkpoints.c - see setup_checkpoints.h. */
#include "run/setup_checkpoints.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dirs.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/saver.h"

static bool saves(const struct job *j)
{
	return job_has_checkpoints(j) && j->phase != PHASE_RESTORE;
}

static int check_readonly(const struct slot *s, const struct run_shared *run,
			  struct mlgen_err *err)
{
	if (!run->cfg.readonly || !saves(s->job) || !slot_touches_files(s))
		return 0;
	return mlgen_fail(err, -EPERM,
			  "readonly: job '%s' saves checkpoints; run it "
			  "without --readonly, or with %s",
			  s->job->name,
			  s->job->phase == PHASE_TRAIN ? "checkpoint_every=0"
						       : "phase=restore");
}

static int check_verify(const struct slot *s, struct mlgen_err *err)
{
	const struct job *j = s->job;

	if (j->phase != PHASE_RESTORE || j->verify == VERIFY_NONE)
		return 0;
	if (slot_touches_files(s))
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "verify: ioengine=%s reads nothing that could be "
			  "checked; verify=none",
			  j->engine->name);
}

/* Two that save into one directory at the same time would give the same names,
 * and delete each other's. */
static int check_alone(const struct slot *s, const struct run_shared *run,
		       struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < run->cfg.count && rc == 0; i++) {
		const struct job *other = run->cfg.jobs[i];
		char *directory;
		if (other == s->job || other->group != s->job->group ||
		    !saves(other) || !saves(s->job))
			continue;
		directory = job_checkpoint_directory(other);
		if (strcmp(directory, s->checkpoint_directory) == 0)
			rc = mlgen_fail(err, -EINVAL,
					"checkpoint_directory: %s is that of "
					"'%s' and of '%s', which run at the "
					"same time; stonewall, or another one",
					directory, s->job->name, other->name);
		mem_free(directory);
	}
	return rc;
}

static int look_at_mount(struct slot *s, struct mlgen_err *err)
{
	int rc = mount_read(&s->checkpoint_mount, s->checkpoint_directory, err);

	if (rc == 0 && s->job->direct)
		rc = mount_direct_alignment(s->checkpoint_directory,
					    &s->checkpoint_align_bytes, err);
	return rc;
}

/* Files of the set have their contents later: setup_checkpoints_open. */
static void describe_files(struct slot *s)
{
	const struct job *j = s->job;
	bool is_restore = j->phase == PHASE_RESTORE;

	s->shards = (struct shard_set){
		.state = &s->state,
		.layout = layout_of(j),
		.is_plain = j->access == ACCESS_PLAIN,
		.bs = is_restore ? j->bs.read : j->bs.write,
		.direct = j->direct,
	};
}

int setup_checkpoints_check(struct slot *s, struct run_shared *run,
			    struct mlgen_err *err)
{
	int rc;

	if (!job_has_checkpoints(s->job))
		return 0;
	s->checkpoint_directory = job_checkpoint_directory(s->job);
	rc = state_init(&s->state, s->job, err);
	if (rc == 0)
		rc = check_readonly(s, run, err);
	if (rc == 0)
		rc = check_verify(s, err);
	if (rc == 0 && slot_touches_files(s))
		rc = check_alone(s, run, err);
	if (rc == 0 && slot_touches_files(s))
		rc = look_at_mount(s, err);
	if (rc == 0)
		describe_files(s);
	return rc;
}

uint64_t setup_checkpoints_files(const struct slot *s)
{
	return s->shards.state ? saver_open_files(s->job, &s->shards) : 0;
}

/* A run that is saving now looks so, too: nothing is wrong with that. */
static void tell_broken(const struct slot *s)
{
	const struct checkpoints *c = &s->checkpoints;
	bool deletes = saves(s->job) && s->job->checkpoint_keep;

	for (size_t i = 0; i < c->count; i++)
		if (!c->items[i].is_complete)
			log_note("%s: %s/%s is not complete, and is never "
				 "restored%s",
				 s->job->name, c->directory, c->items[i].name,
				 deletes ? "; it will be deleted" : "");
	for (size_t i = 0; i < c->foreign_count; i++)
		log_note("%s: %s/%s: %s; it is left alone", s->job->name,
			 c->directory, c->foreign[i].name, c->foreign[i].why);
}

int setup_checkpoints_open(struct slot *s, struct mlgen_err *err)
{
	int rc;

	s->content = content_new(saver_span_bytes(s->job), s->job->randseed);
	s->shards.content = s->content;
	rc = checkpoints_open(&s->checkpoints, s->checkpoint_directory,
			      &s->shards, err);
	if (rc == 0)
		tell_broken(s);
	return rc;
}

static int make_directory(const struct slot *s, struct mlgen_err *err)
{
	const char *directory = s->checkpoint_directory;
	char path[PATH_MAX];
	int rc = 0;

	if (snprintf(path, sizeof(path), "%s", directory) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	else
		rc = dirs_make(path);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: mkdir: %s", path,
				  strerror(-rc));
	if (access(directory, W_OK | X_OK) == 0)
		return 0;
	return mlgen_fail(err, -errno,
			  "%s: cannot write here: %s; another "
			  "checkpoint_directory=, or its permissions",
			  directory, strerror(errno));
}

int setup_checkpoints_place(struct slot *s, uint64_t count,
			    struct mlgen_err *err)
{
	int rc = checkpoints_check_room(&s->checkpoints, count,
					s->job->checkpoint_keep, err);

	return rc == 0 && slot_touches_files(s) ? make_directory(s, err) : rc;
}

int setup_checkpoints_saver(struct slot *s, struct run_shared *run,
			    struct mlgen_err *err)
{
	const struct saver_config cfg = {
		.job = s->job,
		.set = &s->shards,
		.checkpoints = &s->checkpoints,
		.place = &s->place,
		.clock = run->cfg.clock,
		.failure = &run->failure,
		.interrupted = &run->interrupted,
		.is_restore = s->job->phase == PHASE_RESTORE,
		.align_bytes = s->checkpoint_align_bytes,
		.beside = s->job->phase == PHASE_TRAIN ? &s->train.engine_job
						       : NULL,
	};

	return saver_new(&s->saver, &cfg, err);
}

void setup_checkpoints_end(struct slot *s)
{
	s->shards.content = NULL;
	content_free(s->content);
	s->content = NULL;
}

void setup_checkpoints_fini(struct slot *s)
{
	saver_free(s->saver);
	s->saver = NULL;
	setup_checkpoints_end(s);
	checkpoints_fini(&s->checkpoints);
	state_fini(&s->state);
	mem_free(s->restores);
	mem_free(s->checkpoint_directory);
	s->restores = NULL;
	s->checkpoint_directory = NULL;
}
