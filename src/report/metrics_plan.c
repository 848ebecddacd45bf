/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_plan.c - what the JSON document has of a dry run. */
#include "report/metrics_tables.h"

#include <math.h>
#include <string.h>

#include "report/plan_parts.h"

/* clang-format off */

#define C struct plan_calls
const struct mlgen_field metrics_calls_fields[] = {
	{ "open", MLGEN_F_F64(C, open), .help = "Files opened." },
	{ "stat", MLGEN_F_F64(C, stat), .help = "Sizes asked for." },
	{ "read", MLGEN_F_F64(C, read), .help = "Reads." },
	{ "write", MLGEN_F_F64(C, write), .help = "Writes." },
	{ "fsync", MLGEN_F_F64(C, fsync), .help = "Flushes." },
	{ "close", MLGEN_F_F64(C, close), .help = "Files closed." },
	{ 0 },
};
#undef C

static const struct mlgen_choice check_states[] = {
	{ "ok", PLAN_OK, "as it should be" },
	{ "warning", PLAN_WARNING, "the run works, its result says less" },
	{ "fail", PLAN_FAIL, "the run would stop before its first byte" },
	{ 0 },
};

#define C struct plan_check
const struct mlgen_field metrics_check_fields[] = {
	{ "name", MLGEN_F_STR(C, name), .help = "What was looked at." },
	{ "state", MLGEN_F_ENUM(C, state, check_states),
	  .help = "One of ok, warning and fail; a fail is what would stop the run." },
	{ "text", MLGEN_F_STR(C, text),
	  .help = "The rule that is kept, or what is wrong and what would be right." },
	{ 0 },
};

const struct mlgen_field metrics_blocker_fields[] = {
	{ "name", MLGEN_F_STR(C, name), .help = "Which of the checks failed." },
	{ "text", MLGEN_F_STR(C, text), .help = "What would stop the run, and the way out." },
	{ 0 },
};
#undef C

#define R struct plan_ranks
const struct mlgen_field metrics_plan_ranks_fields[] = {
	{ "ranks", MLGEN_F_STR(R, ranks), .help = "Their numbers, as ranges: 0-7,256-263." },
	{ "count", MLGEN_F_U64(R, count), .unit = "ranks", .help = "How many they are." },
	{ "model_bytes", MLGEN_F_U64(R, model_bytes), .unit = "bytes",
	  .help = "What each of them saves of the model, or of what stands for it." },
	{ "optimizer_bytes", MLGEN_F_U64(R, optimizer_bytes), .unit = "bytes",
	  .help = "What each of them saves of the optimizer." },
	{ "bytes", MLGEN_F_U64(R, bytes), .unit = "bytes", .help = "Their sum." },
	{ "files", MLGEN_F_U64(R, files), .unit = "files", .help = "Files of each." },
	{ 0 },
};
#undef R

#define K struct plan_checkpoint
const struct mlgen_field metrics_plan_checkpoint_fields[] = {
	{ "directory", MLGEN_F_STR(K, directory), .help = "Where checkpoints lie." },
	{ "parameters", MLGEN_F_U64(K, parameters), .unit = "parameters",
	  .help = "Of the model; 0 = its state is given by size." },
	{ "ranks", MLGEN_F_U64(K, ranks), .unit = "ranks",
	  .help = "Ranks of the whole job, on all its hosts; 0 = this job has no checkpoints." },
	{ "tensor_parallel", MLGEN_F_U64(K, tensor_parallel), .unit = "ranks", .help = "Ranks that share each layer." },
	{ "pipeline_parallel", MLGEN_F_U64(K, pipeline_parallel), .unit = "stages", .help = "Stages among which the layers are dealt out." },
	{ "data_parallel", MLGEN_F_U64(K, data_parallel), .unit = "ranks", .help = "Copies of the model." },
	{ "classes", METRIC_LIST(K, classes, struct plan_ranks, metrics_plan_ranks_fields),
	  .help = "All ranks of the job; those that save the same are one entry." },
	{ "model_bytes", MLGEN_F_U64(K, model_bytes), .unit = "bytes",
	  .help = "What one checkpoint of all ranks of the job has of the model." },
	{ "optimizer_bytes", MLGEN_F_U64(K, optimizer_bytes), .unit = "bytes", .help = "And of the optimizer." },
	{ "bytes", MLGEN_F_U64(K, bytes), .unit = "bytes",
	  .help = "Their sum: tensors, without what the layout of the files adds." },
	{ "files", MLGEN_F_U64(K, files), .unit = "files", .help = "Files of one checkpoint of all ranks." },
	{ "local_ranks", MLGEN_F_U64(K, local_ranks), .unit = "ranks", .help = "Ranks that this host plays, or the hosts of the job." },
	{ "local_bytes", MLGEN_F_U64(K, local_bytes), .unit = "bytes", .help = "What these have of one checkpoint." },
	{ "local_files", MLGEN_F_U64(K, local_files), .unit = "files", .help = "Files of these." },
	{ "checkpoints", MLGEN_F_U64(K, checkpoints), .unit = "checkpoints", .flags = MLGEN_NULLABLE,
	  .help = "How many are saved, or restored; null = as many as runtime allows." },
	{ "checkpoints_estimate", MLGEN_F_BOOL(K, is_estimate),
	  .help = "That is how many there would be at 100 % utilisation, because they come by the clock." },
	{ "present", MLGEN_F_U64(K, present), .unit = "checkpoints", .help = "Complete ones that are there." },
	{ "first", MLGEN_F_STR(K, first), .help = "The next one to be saved, or the first to be restored; null = not known yet." },
	{ "last", MLGEN_F_STR(K, last), .help = "The last one to be restored." },
	{ "saved_by", MLGEN_F_STR(K, saved_by), .help = "Job of this run that saves what is restored; null = none does." },
	{ "move_bytes", MLGEN_F_U64(K, move_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "What these write, or read, in all; null = as much as runtime allows." },
	{ "free_bytes", MLGEN_F_U64(K, free_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Space that is free there for this user; null = unknown." },
	{ "in_flight", MLGEN_F_U64(K, in_flight), .unit = "requests", .help = "Requests in flight at once, of all threads." },
	{ "program_bytes", MLGEN_F_U64(K, program_bytes), .unit = "bytes",
	  .help = "Memory of the threads that write or read them; an estimate, part of that of the job." },
	{ 0 },
};
#undef K

#define P struct plan_report
const struct mlgen_field metrics_plan_fields[] = {
	{ "hosts", MLGEN_F_U64(P, hosts), .unit = "hosts",
	  .help = "Hosts that the job runs on, as a launcher started it; what follows is of all of them." },
	{ "processes", MLGEN_F_U64(P, processes), .unit = "processes", .help = "Processes of the job." },
	{ "accelerators", MLGEN_F_U64(P, accelerators), .unit = "accelerators", .help = "Accelerators of all processes." },
	{ "present_files", MLGEN_F_U64(P, present_files), .unit = "files",
	  .help = "Files of the dataset, or of a plain job, that are there." },
	{ "present_bytes", MLGEN_F_U64(P, present_bytes), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "present_estimate", MLGEN_F_BOOL(P, present_estimate),
	  .help = "Only some of the files were looked for: there are more than a million." },
	{ "write_files", MLGEN_F_U64(P, write_files), .unit = "files",
	  .help = "Files that the run would write before it starts." },
	{ "write_bytes", MLGEN_F_U64(P, write_bytes), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "free_bytes", MLGEN_F_U64(P, free_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Space that is free for this user; null = unknown." },
	{ "memory_bytes", MLGEN_F_U64(P, memory_bytes), .unit = "bytes",
	  .help = "Memory of this host; of several their sum." },
	{ "dataset_memory_ratio", MLGEN_F_F64(P, dataset_memory_ratio), .flags = MLGEN_NULLABLE,
	  .help = "Size of the dataset in memories of this host, or of all hosts; MLPerf Storage asks for 5." },
	{ "steps_per_epoch", MLGEN_F_U64(P, steps_per_epoch), .unit = "steps",
	  .help = "Steps of an epoch; MLPerf Storage asks for 500." },
	{ "left_over_samples", MLGEN_F_U64(P, left_over_samples), .unit = "samples",
	  .help = "Samples that an epoch does not read, because they fill no batch." },
	{ "total_steps", MLGEN_F_U64(P, total_steps), .unit = "steps", .flags = MLGEN_NULLABLE,
	  .help = "Steps of the run; null = as many as runtime allows." },
	{ "read_bytes", MLGEN_F_F64(P, read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that the run reads; null = as many as runtime allows." },
	{ "least_seconds", MLGEN_F_F64(P, least_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the run at 100 % utilisation; null = unknown." },
	{ "samples_per_sec_one", MLGEN_F_F64(P, samples_per_sec_one), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "What one accelerator takes at 100 % utilisation; null with compute_time=0." },
	{ "bytes_per_sec_one", MLGEN_F_F64(P, bytes_per_sec_one), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in payload." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(P, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What all accelerators ask for at 100 % utilisation." },
	{ "demand_io_bytes_per_sec", MLGEN_F_F64(P, demand_io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in the bytes that would really be read for it." },
	{ "move_bytes", MLGEN_F_U64(P, io.move_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that a plain job reads and writes; null = as many as runtime allows." },
	{ "reads_in_flight", MLGEN_F_U64(P, reads_in_flight), .unit = "reads",
	  .help = "Requests in flight at once, of all threads." },
	{ "calls_per_sample", METRIC_OBJECT(P, calls_per_sample, struct plan_calls, metrics_calls_fields),
	  .help = "Operations for one sample, on average." },
	{ "io_bytes_per_sample", MLGEN_F_F64(P, io_bytes_per_sample), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes read for one sample, on average." },
	{ "direct_align_bytes", MLGEN_F_U64(P, direct_align_bytes), .unit = "bytes",
	  .help = "Alignment to which direct=1 rounds; 0 = through the page cache." },
	{ "open_files", MLGEN_F_U64(P, open_files), .unit = "files",
	  .help = "Open files that a process needs at once." },
	{ "open_files_limit", MLGEN_F_U64(P, open_files_limit), .unit = "files",
	  .help = "Open files that this process may have." },
	{ "program_bytes", MLGEN_F_U64(P, program_bytes), .unit = "bytes",
	  .help = "Memory that mlgen will need on a host, for all its processes there; an estimate." },
	{ "framework_bytes", MLGEN_F_F64(P, framework_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Memory in which the framework would hold samples read ahead; mlgen does so with hold_samples=1." },
	{ "checkpoint", METRIC_OBJECT(P, checkpoint, struct plan_checkpoint, metrics_plan_checkpoint_fields),
	  .help = "What is saved or restored of a model's state." },
	{ "checks", METRIC_LIST(P, checks, struct plan_check, metrics_check_fields),
	  .help = "Everything that was checked." },
	{ "blockers", METRIC_LIST(P, blockers, struct plan_check, metrics_blocker_fields),
	  .help = "What would stop the run; empty = it can start." },
	{ 0 },
};
#undef P

/* clang-format on */

const char *const metrics_ml_planned[] = {
	"accelerators",
	"accelerator",
	"steps",
	"samples",
	"sample_bytes",
	"target_au_percent",
	"demand_bytes_per_sec",
	"demand_io_bytes_per_sec",
	"storage",
	"mlperf_check",
	NULL,
};

const char *const metrics_io_planned[] = {
	"numjobs",   "iodepth_used", "iodepth_least", "files", "file_bytes",
	"rate_read", "rate_write",   "storage",       NULL,
};

const char *const metrics_replay_planned[] = {
	"numjobs",    "iodepth_used", "iodepth_least", "files",
	"file_bytes", "replay",       "storage",       NULL,
};

const char *const metrics_checkpoint_planned[] = { "storage", "mlperf_check", NULL };

/* Texts of the plan's mount, as a result has them; "" there is NULL here. */
static char *text_or_null(const char *s)
{
	char *out = NULL;

	if (*s)
		memcpy(&out, &s, sizeof(out));
	return out;
}

static void plan_storage(struct storage_result *s, const struct plan_report *p)
{
	const struct mount *m = &p->mount;

	s->directory = plan_directory(p);
	s->filesystem = text_or_null(m->type);
	s->mount_source = text_or_null(m->source);
	s->mount_target = text_or_null(m->target);
	s->mount_options = text_or_null(m->options);
	s->device = text_or_null(m->device);
	s->device_kind = text_or_null(m->device_kind);
	s->scheduler = text_or_null(m->scheduler);
	s->read_ahead_bytes = m->read_ahead_bytes ? m->read_ahead_bytes : UINT64_MAX;
	s->device_paths = m->paths ? m->paths : UINT64_MAX;
	s->osts = m->osts ? m->osts : UINT64_MAX;
	s->is_memory = m->is_memory;
	s->has_own_cache = m->has_own_cache;
	s->device_read_bytes = UINT64_MAX;
	s->device_reads = UINT64_MAX;
	s->jobs_read_bytes = UINT64_MAX;
	s->memory_percent = (double)NAN;
	s->resident_before_percent = (double)NAN;
}

void metrics_planned(struct job_result *to, const struct plan_report *p)
{
	struct ml_result *ml = &to->ml;
	const struct job *j = p->job;

	ml->mlperf_check = p->mlperf_check;
	ml->accelerators = p->accelerators;
	ml->accelerator = j->accelerator;
	ml->target_au_percent = j->target_au;
	ml->demand_bytes_per_sec = p->demand_bytes_per_sec;
	ml->demand_io_bytes_per_sec = p->demand_io_bytes_per_sec;
	if (p->total_steps != UINT64_MAX) {
		ml->steps = p->total_steps;
		ml->samples = p->total_steps * j->batch_size * p->accelerators;
		ml->sample_bytes =
			(uint64_t)fmin((double)ml->samples * p->totals.mean_sample_bytes, 1e18);
	}
	plan_storage(&to->storage, p);
}

/* Of all workers; the options say it of one. */
static struct rate_result planned_rate(uint64_t bytes, uint64_t iops, uint64_t workers)
{
	const double n = (double)workers, none = (double)NAN;

	return (struct rate_result){
		.asked_bytes_per_sec = bytes ? (double)bytes * n : none,
		.asked_iops = iops ? (double)iops * n : none,
	};
}

void metrics_planned_io(struct job_result *to, const struct plan_report *p)
{
	struct io_result *io = &to->io;
	const struct job *j = p->job;

	io->numjobs = j->numjobs;
	to->iodepth_used = io->iodepth_least = job_depth(j);
	io->files = p->io.files;
	io->file_bytes = p->io.file_bytes;
	io->rate[0] = planned_rate(j->rate.read, j->rate_iops.read, j->numjobs);
	io->rate[1] = planned_rate(j->rate.write, j->rate_iops.write, j->numjobs);
	plan_storage(&to->storage, p);
}

static void plan_asked(struct replay_result *to, const struct plan_replay *p)
{
	*to = (struct replay_result){
		.trace = p->trace,
		.threads = p->threads,
		.asked_seconds = p->seconds,
		.asked_operations = p->operations,
		.done_operations = UINT64_MAX,
		.asked_bytes = p->read_bytes + p->write_bytes,
		.done_bytes = UINT64_MAX,
		.touches = p->touches,
		.redirected = p->redirected,
		.blocks = p->blocks,
		.folded = p->folded,
		.waits = UINT64_MAX,
		.wait_seconds = (double)NAN,
		.left_out_operations = p->left_operations,
		.slice_seconds = (double)NAN,
	};
	memcpy(to->left_out, p->left_out, sizeof(to->left_out));
}

void metrics_planned_replay(struct job_result *to, const struct plan_report *p)
{
	struct io_result *io = &to->io;

	io->numjobs = p->replay.workers;
	to->iodepth_used = io->iodepth_least = p->replay.depth;
	io->files = p->io.files;
	io->file_bytes = p->io.file_bytes;
	plan_asked(&io->replay, &p->replay);
	plan_storage(&to->storage, p);
}
