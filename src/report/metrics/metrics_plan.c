/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_plan.c - tables of data sets, dry runs and questions, and figures that a plan fills. */
#include "report/metrics/metrics.h"

#include <math.h>
#include <string.h>

/* clang-format off */

#define M struct job_result
const struct mlgen_field metrics_dataset_fields[] = {
	{ "directory", MLGEN_F_STR(M, doc.dataset.directory),
	  .help = "Where the dataset lies." },
	{ "format", METRICS_TEXT(M, doc.format),
	  .help = "Format of its files; with format=auto the one that was found." },
	{ "found", MLGEN_F_BOOL(M, doc.dataset.is_found),
	  .help = "Its files were there and are read as they are, by dataset=scan or because DLIO had made them." },
	{ "files", MLGEN_F_U64(M, doc.dataset.files), .unit = "files",
	  .help = "Files that the job reads." },
	{ "files_named", MLGEN_F_U64(M, doc.dataset.files_named), .unit = "files",
	  .help = "Files of the whole dataset, the number in their names." },
	{ "samples_per_file", MLGEN_F_U64(M, doc.dataset.samples_per_file), .unit = "samples",
	  .help = "Samples in each file; their mean, rounded up, where they differ." },
	{ "samples", MLGEN_F_U64(M, doc.samples), .unit = "samples",
	  .help = "Samples in all these files." },
	{ "uneven", MLGEN_F_BOOL(M, doc.is_uneven),
	  .help = "The files have different numbers of samples." },
	{ "subfolders", MLGEN_F_U64(M, doc.dataset.subfolders), .unit = "folders",
	  .help = "Folders among which the files are spread; 0 and 1 = one." },
	{ "bytes", MLGEN_F_U64(M, totals.bytes), .unit = "bytes",
	  .help = "Size of all these files." },
	{ "sample_bytes", MLGEN_F_U64(M, totals.sample_bytes), .unit = "bytes",
	  .help = "Payload in them that is asked for: of columns those that are read, as declared." },
	{ "row_bytes", MLGEN_F_U64(M, totals.row_bytes), .unit = "bytes",
	  .help = "All payload in them, whole rows, without what the format adds." },
	{ "mean_file_bytes", MLGEN_F_F64(M, totals.mean_file_bytes), .unit = "bytes",
	  .help = "Mean size of a file." },
	{ "stdev_file_bytes", MLGEN_F_F64(M, totals.stdev_file_bytes), .unit = "bytes",
	  .help = "Standard deviation of the size of a file." },
	{ "mean_sample_bytes", MLGEN_F_F64(M, totals.mean_sample_bytes), .unit = "bytes",
	  .help = "Mean payload of a sample that is asked for." },
	{ "scan_read_bytes", MLGEN_F_F64(M, totals.scan_read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "What dataset=scan read of the files to know their samples, before the run; null = it looked into none." },
	{ "scan_seconds", MLGEN_F_F64(M, totals.scan_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long that took." },
	{ "scan_kept_files", MLGEN_F_F64(M, totals.scan_kept_files), .unit = "files", .flags = MLGEN_NULLABLE,
	  .help = "Files that it did not look into, because scan_cache, or the run before of the same command, had what is in them; null = it looks into none." },
	{ "label_files", MLGEN_F_F64(M, totals.label_files), .unit = "files", .flags = MLGEN_NULLABLE,
	  .help = "Files that have a label file, which is read with their samples; null = there are no such pairs." },
	{ "estimate", MLGEN_F_BOOL(M, totals.estimate),
	  .help = "The sizes are expectations, not sums: there are more than a million files." },
	{ 0 },
};
#undef M

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

static void plan_storage(struct storage_result *s, const struct plan_report *p)
{
	storage_result_init(s, &p->mount);
	s->directory = plan_directory(p);
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

/* The rates of all workers; the options are per worker. */
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

void metrics_planned_replay(struct job_result *to, const struct plan_report *p)
{
	struct io_result *io = &to->io;

	io->numjobs = p->replay.workers;
	to->iodepth_used = io->iodepth_least = p->replay.depth;
	io->files = p->io.files;
	io->file_bytes = p->io.file_bytes;
	io->replay = p->replay.asked;
	plan_storage(&to->storage, p);
}

/* clang-format off */

#define J struct metrics_merged_job
const struct mlgen_field metrics_merged_job_fields[] = {
	{ "jobname", METRICS_TEXT(J, jobname),
	  .help = "Name of the job." },
	{ "au_percent", MLGEN_F_PERCENT(J, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Utilisation of this run's accelerators; null = it has none." },
	{ "bytes_per_sec", MLGEN_F_F64(J, bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What storage moved for this run; null = unknown." },
	{ "stall_p99_ns", MLGEN_F_F64(J, stall_p99_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The 99th percentile of the stalls of its accelerators; null = none was counted." },
	{ "cpu_percent", MLGEN_F_PERCENT(J, cpu_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy its host's CPUs were, as host.cpu_percent has it; null = unknown." },
	{ "host_barrier_percent", MLGEN_F_PERCENT(J, host_barrier_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How much of their time its accelerators waited for other processes; null = it has none." },
	{ "is_slowest", MLGEN_F_BOOL(J, is_slowest),
	  .help = "Whether it is the one that the others wait for, has the least utilisation of all runs or, of jobs without accelerators, moved the least; false where all are alike." },
	{ 0 },
};
#undef J

#define R struct metrics_merged_run
const struct mlgen_field metrics_merged_run_fields[] = {
	{ "file", MLGEN_F_STR(R, file),
	  .help = "Name of the document." },
	{ "hostname", MLGEN_F_STR(R, hostname),
	  .help = "Host of the run." },
	{ "timestamp_ms", MLGEN_F_U64(R, timestamp_ms), .unit = "ms",
	  .help = "Its start, milliseconds since 1970." },
	{ "turn", MLGEN_F_U64(R, turn),
	  .help = "Runs of one number ran side by side, those of the next one after them." },
	{ "rank", MLGEN_F_U64(R, rank), .flags = MLGEN_NULLABLE,
	  .help = "Of one job on several hosts: the process's rank; null = the run is a document of its own." },
	{ "clock_offset_ns", MLGEN_F_F64(R, clock_offset_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "How far the time of day there was ahead of rank 0's when they met; null = unknown." },
	{ "clock_unsure_ns", MLGEN_F_F64(R, clock_unsure_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Half of the round trip by which that was found: give or take so much." },
	{ "jobs", METRIC_LIST(R, job_list, struct metrics_merged_job, metrics_merged_job_fields),
	  .help = "What each job of it came to." },
	{ 0 },
};
#undef R

#define M struct metrics_merged
const struct mlgen_field metrics_merged_fields[] = {
	{ "hosts", MLGEN_F_U64(M, hosts), .unit = "hosts",
	  .help = "Hosts of all runs." },
	{ "turns", MLGEN_F_U64(M, turns), .unit = "turns",
	  .help = "How often runs were made, one after the other; rates are sums within a turn, and means of the turns." },
	{ "overlap_percent", MLGEN_F_PERCENT(M, overlap_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "For how much of their time the runs of a turn ran all together, the least of the turns; null = none ran side by side." },
	{ "runs", METRIC_LIST(M, run_list, struct metrics_merged_run, metrics_merged_run_fields),
	  .help = "Each run that is in this report." },
	{ 0 },
};
#undef M

#define P struct metrics_probe
const struct mlgen_field metrics_probe_fields[] = {
	{ "value", MLGEN_F_U64(P, value),
	  .help = "Value of the option in this run, of --find-min in percent." },
	{ "full", MLGEN_F_BOOL(P, full),
	  .help = "It was as long as the job says; short ones only show where to look." },
	{ "possible", MLGEN_F_BOOL(P, possible),
	  .help = "The job can run with this value." },
	{ "holds", MLGEN_F_BOOL(P, holds),
	  .help = "The requirement was met." },
	{ "cut_short", MLGEN_F_BOOL(P, cut_short),
	  .help = "A full run that ended after its first epoch, when the AU required was out of its reach." },
	{ "figures", METRIC_F64S(P, figure_list),
	  .help = "Figure of each part of the requirement, in its order; null = unknown." },
	{ "margin_percent", MLGEN_F_F64(P, margin_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "By how much of its limit the part that is met least is better than required; negative: it is missed." },
	{ "au_percent", MLGEN_F_PERCENT(P, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "AU of the job that is varied." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(P, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Its throughput." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(P, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What its accelerators ask for at an AU of 100 %." },
	{ "stall_p99_ns", MLGEN_F_F64(P, stall_p99_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Its stalls, 99th percentile." },
	{ "supply_percent", MLGEN_F_F64(P, supply_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Of short probes and of short epochs, in which AU hardly has the waiting: what read threads brought while they were not idle, in percent of what the accelerators ask for; less than the AU required does not hold. null = a full run of epochs that are long enough." },
	{ "steps", MLGEN_F_U64(P, steps), .flags = MLGEN_NULLABLE,
	  .help = "Steps of one of its accelerators." },
	{ "seconds", MLGEN_F_F64(P, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time it ran." },
	{ "errors", MLGEN_F_U64(P, errors), .unit = "errors",
	  .help = "Errors that continue_on_error counted, of all jobs." },
	{ "too_many_errors", MLGEN_F_BOOL(P, too_many_errors),
	  .help = "More failed in one of them than its max_errors allows: the requirement is not met." },
	{ "verdict", METRICS_CHARS(P, verdict),
	  .help = "Its verdict; see jobs[].ml.verdict. Errors also where too many were those of another job." },
	{ "error", METRICS_CHARS(P, error),
	  .help = "Why it was not possible; null = it was." },
	{ 0 },
};
#undef P

#define L struct metrics_answer_line
const struct mlgen_field metrics_answer_line_fields[] = {
	{ "label", METRICS_TEXT(L, label),
	  .help = "Label of the line: ANSWER, limit, fits, play it, host, beside, sure or but; null = none." },
	{ "text", MLGEN_F_STR(L, text), .help = "Text of the line, which is not broken." },
	{ 0 },
};
#undef L

#define F struct metrics_find_max
const struct mlgen_field metrics_find_max_fields[] = {
	{ "option", METRICS_TEXT(F, option), .help = "Option that was varied." },
	{ "job", METRICS_TEXT(F, job), .help = "Job whose option it is." },
	{ "question", METRICS_TEXT(F, question), .help = "The question, in the words of the terminal." },
	{ "lines", METRIC_LIST(F, lines, struct metrics_answer_line, metrics_answer_line_fields),
	  .help = "The answer in the words of the terminal, line by line." },
	{ "requirement", METRICS_TEXT(F, requirement), .help = "What had to hold." },
	{ "smallest", MLGEN_F_BOOL(F, smallest),
	  .help = "It was asked for the smallest value, of which less is harder: --find-min, in percent of the dataset." },
	{ "answer", MLGEN_F_U64(F, answer), .flags = MLGEN_NULLABLE,
	  .help = "Largest value for which it surely does, of --find-min the smallest; null = none was found." },
	{ "at_most", MLGEN_F_U64(F, at_most), .flags = MLGEN_NULLABLE,
	  .help = "Up to here it may hold: full runs said both; as answer where that is sure." },
	{ "limited_by", MLGEN_F_U64(F, limited_by), .flags = MLGEN_NULLABLE,
	  .help = "Smallest value for which it does not hold, or that is not possible, of --find-min the largest; null = none was found." },
	{ "limit", METRICS_TEXT(F, limit),
	  .help = "What stands in the way there: storage, network, memory, host (more storage would not help), compute, errors, unclear, not possible, files (too few in the dataset for more), or option (the most it can be); null = not known." },
	{ "limit_bytes_per_sec", MLGEN_F_F64(F, limit_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The most that was delivered in any of the runs, page caches aside; of short epochs of one accelerator, what read threads brought while they were not idle. null = none was measured." },
	{ "fraction", MLGEN_F_F64(F, fraction), .flags = MLGEN_NULLABLE,
	  .help = "Where storage does not feed one accelerator: the part of one that it feeds at the AU required; compute_time divided by it is that accelerator. null = it feeds one, or something else is the limit." },
	{ "confirmed", MLGEN_F_BOOL(F, confirmed),
	  .help = "Full runs have said so on both sides." },
	{ "noise_percent", MLGEN_F_F64(F, noise_percent), .unit = "%",
	  .help = "What was too near to the limit to be believed at once: the spread of repeated runs, in percent of the limit, at least 1." },
	{ "ceiling_percent", MLGEN_F_PERCENT(F, ceiling_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "AU that this host reaches with limited_by when storage is taken away." },
	{ "interrupted", MLGEN_F_BOOL(F, interrupted),
	  .help = "The search was stopped; what was known by then is said." },
	{ "probes", METRIC_LIST(F, probes, struct metrics_probe, metrics_probe_fields),
	  .help = "All runs, in their order." },
	{ 0 },
};
#undef F

/* clang-format on */
