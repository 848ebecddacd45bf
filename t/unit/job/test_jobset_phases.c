/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobset_phases.c - options of another phase, and those that a phase brings. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "jobset_rig.h"
#include "suites.h"

/* A file, and the one fault, or the first note, that it has. */
static const struct {
	const char *file, *line;
	enum diag_level level;
	const char *text;
} phases[] = {
	{ "[a]\nrw=read\nbatch_size=4\n", "a.job", DIAG_ERROR,
	  "batch_size: an option of phase=train; this job is phase=io" },
	{ "[a]\nrw=read\n", "a.job --a.shuffle=none", DIAG_ERROR,
	  "shuffle: an option of phase=train; this job is phase=io" },
	{ "[a]\nbatch_size=4\nrate=1m\n", "a.job", DIAG_ERROR,
	  "rate: an option of plain I/O jobs (phase=io, rw=...); this job is phase=train" },
	{ "[a]\nphase=prepare\nsize=1m\n", "a.job", DIAG_ERROR,
	  "size: an option of plain I/O jobs (phase=io, rw=...); this job is phase=prepare" },
	{ "[a]\nsize=1m\n", "a.job", DIAG_ERROR,
	  "size: an option of plain I/O jobs (phase=io, rw=...); set the kind of job: add rw=read, "
	  "which is fio's default" },
	{ "[global]\nsize=1m\n[a]\n", "a.job", DIAG_ERROR,
	  "size: an option of plain I/O jobs (phase=io, rw=...); set the kind" },
	{ "[a]\nrw=read\n[b]\nepochs=2\n", "a.job --rate=1m", DIAG_NOTE,
	  "rate: an option of plain I/O jobs (phase=io, rw=...); jobs of phase=train ignore it" },
	{ "[global]\nbatch_size=4\n[a]\nrw=read\n[b]\n", "a.job", DIAG_NOTE,
	  "batch_size: an option of phase=train; jobs of phase=io ignore it" },
	{ "[a]\nphase=oi\nrw=read\nepochs=1\n", "a.job", DIAG_ERROR,
	  "phase: 'oi' is not one of train prepare io checkpoint restore replay; did you mean "
	  "'io'?" },
	{ "[a]\nrw=read\n[accelerator=x]\nepochs=3\n", "a.job", DIAG_ERROR,
	  "accelerator: not set, but a.job has sections for x; " },
	{ "[a]\nrw=read\nthread\n", "a.job", DIAG_NOTE,
	  "thread: fio option without effect in mlgen: workers are always threads" },
	{ "[a]\nrw=read\nsync=0\n", "a.job", DIAG_NOTE,
	  "sync: fio option without effect in mlgen: mlgen always behaves this way" },
	{ "[a]\nrw=read\nsync=1\n", "a.job", DIAG_ERROR,
	  "sync=1: fio option; mlgen supports only sync=0: use fsync or" },
	{ "[a]\nread_iolog=a.log\nreplay_no_stall=1\n", "a.job", DIAG_ERROR,
	  "replay_no_stall=1: fio option; mlgen supports only replay_no_stall=0: use "
	  "replay_time=asap" },
	{ "[a]\nread_iolog=a.log\nreplay_time_scale=100\n", "a.job", DIAG_NOTE,
	  "replay_time_scale: fio option without effect in mlgen: mlgen always behaves this way" },
	{ "[a]\nrw=read\nreplay_speed=2\n", "a.job", DIAG_ERROR,
	  "replay_speed: an option of phase=replay (replay_trace=...); this job is phase=io" },
	{ "[a]\nrw=read\nforce_async=2\n", "a.job", DIAG_ERROR,
	  "force_async: fio option, not in mlgen: belongs to fio's ioengine=io_uring" },
	{ "[global]\nrw=read\n[global]\nreadwrite=write\n[a]\nphase=train\n", "a.job", DIAG_NOTE,
	  "readwrite: an option of plain I/O jobs (phase=io, rw=...); jobs of " },
	{ "[a]\nrw=read\niodepth_batch=2\n", "a.job", DIAG_NOTE,
	  "iodepth_batch_submit: 2 is more than iodepth=1; mlgen uses iodepth" },
};

START_TEST(options_of_another_phase_are_told)
{
	int want = phases[_i].level == DIAG_ERROR ? -EINVAL : 0;

	write_file("a.job", phases[_i].file);
	ck_assert_int_eq(load(phases[_i].line), want);
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_int_eq(faults.entries[0].level, phases[_i].level);
	ck_assert_msg(strncmp(first_fault(), phases[_i].text, strlen(phases[_i].text)) == 0, "%s",
		      first_fault());
}
END_TEST

START_TEST(origins_tell_what_a_phase_brought)
{
	static const char *const want[][2] = {
		{ "phase", "from rw" },
		{ "bs", "default of phase=io" },
		{ "directory", "default of phase=io" },
		{ "rwmixread", "from rwmixwrite" },
		{ "rwmixwrite", "[a]" },
		{ "numjobs", "default" },
	};

	write_file("a.job", "[global]\nrwmixread=9\n[a]\nrw=rw\n"
			    "rwmixwrite=40\n");
	ck_assert_int_eq(load("a.job"), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		const struct mlgen_field *f = field_find(job_fields, want[i][0]);
		const struct job_origin *o = &set.jobs[0]->origins[f - job_fields];

		ck_assert_str_eq(o->how, want[i][1]);
		ck_assert_int_eq(o->raw != NULL, *want[i][1] == '[');
	}
}
END_TEST

Suite *suite_jobset_phases(void)
{
	Suite *s = suite_create("jobset_phases");
	TCase *t = tcase_create("jobset_phases");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, options_of_another_phase_are_told, 0, ARRAY_LEN(phases));
	tcase_add_test(t, origins_tell_what_a_phase_brought);
	suite_add_tcase(s, t);
	return s;
}
