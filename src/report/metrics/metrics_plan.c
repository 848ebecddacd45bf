/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_plan.c - tables for datasets, dry runs and questions, and the figures that a plan
 * fills. */
#include "report/metrics/metrics.h"

#include <math.h>
#include <string.h>

/* clang-format off */

#define M struct job_result
const struct mlgen_field metrics_dataset_fields[] = {
	{ "directory", MLGEN_F_STR(M, doc.dataset.directory),
	  .help = "Directory of the dataset." },
	{ "format", METRICS_TEXT(M, doc.format),
	  .help = "Format of its files; with format=auto the format that was found." },
	{ "found", MLGEN_F_BOOL(M, doc.dataset.is_found),
	  .help = "True if existing files are read unchanged, because of dataset=scan or because DLIO made them." },
	{ "files", MLGEN_F_U64(M, doc.dataset.files), .unit = "files",
	  .help = "Files that the job reads." },
	{ "files_named", MLGEN_F_U64(M, doc.dataset.files_named), .unit = "files",
	  .help = "Files of the whole dataset, which is the number in their names." },
	{ "samples_per_file", MLGEN_F_U64(M, doc.dataset.samples_per_file), .unit = "samples",
	  .help = "Samples in each file; if files differ, the mean, rounded up." },
	{ "samples", MLGEN_F_U64(M, doc.samples), .unit = "samples",
	  .help = "Samples in all files." },
	{ "uneven", MLGEN_F_BOOL(M, doc.is_uneven),
	  .help = "True if files have different numbers of samples." },
	{ "subfolders", MLGEN_F_U64(M, doc.dataset.subfolders), .unit = "folders",
	  .help = "Number of folders that contain the files; 0 and 1 = one folder." },
	{ "bytes", MLGEN_F_U64(M, totals.bytes), .unit = "bytes",
	  .help = "Size of all files." },
	{ "sample_bytes", MLGEN_F_U64(M, totals.sample_bytes), .unit = "bytes",
	  .help = "Payload that is read from them; with columns, the declared size of the columns that are read." },
	{ "row_bytes", MLGEN_F_U64(M, totals.row_bytes), .unit = "bytes",
	  .help = "All payload in them: whole rows, without the overhead of the format." },
	{ "mean_file_bytes", MLGEN_F_F64(M, totals.mean_file_bytes), .unit = "bytes",
	  .help = "Mean size of a file." },
	{ "stdev_file_bytes", MLGEN_F_F64(M, totals.stdev_file_bytes), .unit = "bytes",
	  .help = "Standard deviation of the size of a file." },
	{ "mean_sample_bytes", MLGEN_F_F64(M, totals.mean_sample_bytes), .unit = "bytes",
	  .help = "Mean payload that is read of a sample." },
	{ "scan_read_bytes", MLGEN_F_F64(M, totals.scan_read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that dataset=scan read before the run to find samples; null = it opened no file." },
	{ "scan_seconds", MLGEN_F_F64(M, totals.scan_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the scan." },
	{ "scan_kept_files", MLGEN_F_F64(M, totals.scan_kept_files), .unit = "files", .flags = MLGEN_NULLABLE,
	  .help = "Files that the scan did not open, because scan_cache or the previous run of the same command knew their samples; null = it opens no file." },
	{ "label_files", MLGEN_F_F64(M, totals.label_files), .unit = "files", .flags = MLGEN_NULLABLE,
	  .help = "Files with a label file, which is read with their samples; null = no label files." },
	{ "estimate", MLGEN_F_BOOL(M, totals.estimate),
	  .help = "True if sizes are estimates instead of sums, because there are more than a million files." },
	{ 0 },
};
#undef M

#define C struct plan_calls
const struct mlgen_field metrics_calls_fields[] = {
	{ "open", MLGEN_F_F64(C, open), .help = "Files opened." },
	{ "stat", MLGEN_F_F64(C, stat), .help = "Sizes that were requested." },
	{ "read", MLGEN_F_F64(C, read), .help = "Reads." },
	{ "write", MLGEN_F_F64(C, write), .help = "Writes." },
	{ "fsync", MLGEN_F_F64(C, fsync), .help = "Flushes." },
	{ "close", MLGEN_F_F64(C, close), .help = "Files closed." },
	{ 0 },
};
#undef C

static const struct mlgen_choice check_states[] = {
	{ "ok", PLAN_OK, "as it should be" },
	{ "warning", PLAN_WARNING, "the run works, but its result is less meaningful" },
	{ "fail", PLAN_FAIL, "the run would stop before its first byte" },
	{ 0 },
};

#define C struct plan_check
const struct mlgen_field metrics_check_fields[] = {
	{ "name", MLGEN_F_STR(C, name), .help = "Subject of the check." },
	{ "state", MLGEN_F_ENUM(C, state, check_states),
	  .help = "One of ok, warning and fail; a fail would stop the run." },
	{ "text", MLGEN_F_STR(C, text),
	  .help = "The rule that holds, or the problem and how to correct it." },
	{ 0 },
};

const struct mlgen_field metrics_blocker_fields[] = {
	{ "name", MLGEN_F_STR(C, name), .help = "Name of the check that failed." },
	{ "text", MLGEN_F_STR(C, text), .help = "What would stop the run, and how to avoid it." },
	{ 0 },
};
#undef C

#define R struct plan_ranks
const struct mlgen_field metrics_plan_ranks_fields[] = {
	{ "ranks", MLGEN_F_STR(R, ranks), .help = "Numbers of the ranks, as ranges: 0-7,256-263." },
	{ "count", MLGEN_F_U64(R, count), .unit = "ranks", .help = "Number of these ranks." },
	{ "model_bytes", MLGEN_F_U64(R, model_bytes), .unit = "bytes",
	  .help = "Bytes of the model, or of its stand-in, that each of them saves." },
	{ "optimizer_bytes", MLGEN_F_U64(R, optimizer_bytes), .unit = "bytes",
	  .help = "Bytes of the optimizer that each of them saves." },
	{ "bytes", MLGEN_F_U64(R, bytes), .unit = "bytes", .help = "Their sum." },
	{ "files", MLGEN_F_U64(R, files), .unit = "files", .help = "Files of each." },
	{ 0 },
};
#undef R

#define K struct plan_checkpoint
const struct mlgen_field metrics_plan_checkpoint_fields[] = {
	{ "directory", MLGEN_F_STR(K, directory), .help = "Directory of the checkpoints." },
	{ "parameters", MLGEN_F_U64(K, parameters), .unit = "parameters",
	  .help = "Parameters of the model; 0 = the state is given by its size." },
	{ "ranks", MLGEN_F_U64(K, ranks), .unit = "ranks",
	  .help = "Ranks of the whole job, on all its hosts; 0 = this job has no checkpoints." },
	{ "tensor_parallel", MLGEN_F_U64(K, tensor_parallel), .unit = "ranks", .help = "Number of ranks that share each layer." },
	{ "pipeline_parallel", MLGEN_F_U64(K, pipeline_parallel), .unit = "stages", .help = "Number of pipeline stages that share the layers." },
	{ "data_parallel", MLGEN_F_U64(K, data_parallel), .unit = "ranks", .help = "Number of copies of the model." },
	{ "classes", METRIC_LIST(K, classes, struct plan_ranks, metrics_plan_ranks_fields),
	  .help = "All ranks of the job; ranks that save the same are one entry." },
	{ "model_bytes", MLGEN_F_U64(K, model_bytes), .unit = "bytes",
	  .help = "Bytes of the model in one checkpoint of all ranks of the job." },
	{ "optimizer_bytes", MLGEN_F_U64(K, optimizer_bytes), .unit = "bytes", .help = "Bytes of the optimizer in one checkpoint of all ranks." },
	{ "bytes", MLGEN_F_U64(K, bytes), .unit = "bytes",
	  .help = "Sum of both: tensors, without the overhead of the file layout." },
	{ "files", MLGEN_F_U64(K, files), .unit = "files", .help = "Files of one checkpoint of all ranks." },
	{ "local_ranks", MLGEN_F_U64(K, local_ranks), .unit = "ranks", .help = "Ranks that this host, or the hosts of the job, simulate." },
	{ "local_bytes", MLGEN_F_U64(K, local_bytes), .unit = "bytes", .help = "Bytes that these ranks have in one checkpoint." },
	{ "local_files", MLGEN_F_U64(K, local_files), .unit = "files", .help = "Files of these ranks in one checkpoint." },
	{ "checkpoints", MLGEN_F_U64(K, checkpoints), .unit = "checkpoints", .flags = MLGEN_NULLABLE,
	  .help = "Number of checkpoints that are saved or restored; null = as many as runtime allows." },
	{ "checkpoints_estimate", MLGEN_F_BOOL(K, is_estimate),
	  .help = "True if the number assumes 100 % utilisation, because checkpoints are saved at intervals of time." },
	{ "present", MLGEN_F_U64(K, present), .unit = "checkpoints", .help = "Number of complete checkpoints that exist." },
	{ "first", MLGEN_F_STR(K, first), .help = "Number of the next checkpoint to be saved, or of the first to be restored; null = not known yet." },
	{ "last", MLGEN_F_STR(K, last), .help = "Number of the last checkpoint to be restored." },
	{ "saved_by", MLGEN_F_STR(K, saved_by), .help = "Job of this run that saves the checkpoints that are restored; null = no job." },
	{ "move_bytes", MLGEN_F_U64(K, move_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that these ranks write or read in total; null = as much as runtime allows." },
	{ "free_bytes", MLGEN_F_U64(K, free_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Free space there for this user; null = unknown." },
	{ "in_flight", MLGEN_F_U64(K, in_flight), .unit = "requests", .help = "Requests in flight at once, of all threads." },
	{ "program_bytes", MLGEN_F_U64(K, program_bytes), .unit = "bytes",
	  .help = "Estimated memory of the threads that write or read them; included in the memory of the job." },
	{ 0 },
};
#undef K

#define P struct plan_report
const struct mlgen_field metrics_plan_fields[] = {
	{ "hosts", MLGEN_F_U64(P, hosts), .unit = "hosts",
	  .help = "Hosts that a launcher started the job on; all figures below cover all hosts." },
	{ "processes", MLGEN_F_U64(P, processes), .unit = "processes", .help = "Processes of the job." },
	{ "accelerators", MLGEN_F_U64(P, accelerators), .unit = "accelerators", .help = "Accelerators of all processes." },
	{ "present_files", MLGEN_F_U64(P, present_files), .unit = "files",
	  .help = "Files of the dataset, or of a plain job, that exist." },
	{ "present_bytes", MLGEN_F_U64(P, present_bytes), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "present_estimate", MLGEN_F_BOOL(P, present_estimate),
	  .help = "True if only some of the files were checked, because there are more than a million." },
	{ "write_files", MLGEN_F_U64(P, write_files), .unit = "files",
	  .help = "Files that the run would write before it starts." },
	{ "write_bytes", MLGEN_F_U64(P, write_bytes), .unit = "bytes",
	  .help = "Bytes of these files." },
	{ "free_bytes", MLGEN_F_U64(P, free_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Free space for this user; null = unknown." },
	{ "memory_bytes", MLGEN_F_U64(P, memory_bytes), .unit = "bytes",
	  .help = "Memory of this host; for several hosts the sum." },
	{ "dataset_memory_ratio", MLGEN_F_F64(P, dataset_memory_ratio), .flags = MLGEN_NULLABLE,
	  .help = "Size of the dataset divided by the memory of this host, or of all hosts; MLPerf Storage requires 5." },
	{ "steps_per_epoch", MLGEN_F_U64(P, steps_per_epoch), .unit = "steps",
	  .help = "Steps of an epoch; MLPerf Storage requires 500." },
	{ "left_over_samples", MLGEN_F_U64(P, left_over_samples), .unit = "samples",
	  .help = "Samples that an epoch does not read, because they do not fill a batch." },
	{ "total_steps", MLGEN_F_U64(P, total_steps), .unit = "steps", .flags = MLGEN_NULLABLE,
	  .help = "Steps of the run; null = as many as runtime allows." },
	{ "read_bytes", MLGEN_F_F64(P, read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that the run reads; null = as many as runtime allows." },
	{ "least_seconds", MLGEN_F_F64(P, least_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the run at 100 % utilisation; null = unknown." },
	{ "samples_per_sec_one", MLGEN_F_F64(P, samples_per_sec_one), .unit = "samples/s", .flags = MLGEN_NULLABLE,
	  .help = "Samples that one accelerator needs at 100 % utilisation; null with compute_time=0." },
	{ "bytes_per_sec_one", MLGEN_F_F64(P, bytes_per_sec_one), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in bytes of payload." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(P, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload that all accelerators need at 100 % utilisation." },
	{ "demand_io_bytes_per_sec", MLGEN_F_F64(P, demand_io_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The same in bytes that are read from the files." },
	{ "move_bytes", MLGEN_F_U64(P, io.move_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes that a plain job reads and writes; null = as many as runtime allows." },
	{ "reads_in_flight", MLGEN_F_U64(P, reads_in_flight), .unit = "reads",
	  .help = "Requests in flight at once, of all threads." },
	{ "calls_per_sample", METRIC_OBJECT(P, calls_per_sample, struct plan_calls, metrics_calls_fields),
	  .help = "Operations for one sample, on average." },
	{ "io_bytes_per_sample", MLGEN_F_F64(P, io_bytes_per_sample), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes read for one sample, on average." },
	{ "direct_align_bytes", MLGEN_F_U64(P, direct_align_bytes), .unit = "bytes",
	  .help = "Alignment to which direct=1 rounds requests; 0 = through the page cache." },
	{ "open_files", MLGEN_F_U64(P, open_files), .unit = "files",
	  .help = "Open files that a process needs at once." },
	{ "open_files_limit", MLGEN_F_U64(P, open_files_limit), .unit = "files",
	  .help = "Open files that this process may have." },
	{ "program_bytes", MLGEN_F_U64(P, program_bytes), .unit = "bytes",
	  .help = "Memory that mlgen will need on a host, for all its processes there; an estimate." },
	{ "framework_bytes", MLGEN_F_F64(P, framework_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Memory that a framework would need for samples that are read ahead; mlgen uses it only with hold_samples=1." },
	{ "checkpoint", METRIC_OBJECT(P, checkpoint, struct plan_checkpoint, metrics_plan_checkpoint_fields),
	  .help = "The part of a model's state that is saved or restored." },
	{ "checks", METRIC_LIST(P, checks, struct plan_check, metrics_check_fields),
	  .help = "All checks." },
	{ "blockers", METRIC_LIST(P, blockers, struct plan_check, metrics_blocker_fields),
	  .help = "Problems that would stop the run; empty = it can start." },
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

/* The rates of all workers together; the options are per worker. */
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
	  .help = "Utilisation of the accelerators of this run; null = no accelerators." },
	{ "bytes_per_sec", MLGEN_F_F64(J, bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Throughput of storage for this run; null = unknown." },
	{ "stall_p99_ns", MLGEN_F_F64(J, stall_p99_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The 99th percentile of the stalls of its accelerators; null = no stall was counted." },
	{ "cpu_percent", MLGEN_F_PERCENT(J, cpu_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "How busy the CPUs of its host were, as in host.cpu_percent; null = unknown." },
	{ "host_barrier_percent", MLGEN_F_PERCENT(J, host_barrier_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which its accelerators waited for other processes; null = no accelerators." },
	{ "is_slowest", MLGEN_F_BOOL(J, is_slowest),
	  .help = "True for the slowest run: the others wait for it, its utilisation is the lowest or, without accelerators, its throughput is; false if all runs are alike." },
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
	  .help = "Start of the run, milliseconds since 1970." },
	{ "turn", MLGEN_F_U64(R, turn),
	  .help = "Number of the turn: its runs ran side by side; the next turn came after them." },
	{ "rank", MLGEN_F_U64(R, rank), .flags = MLGEN_NULLABLE,
	  .help = "Rank of the process, for one job on several hosts; null = the run has its own document." },
	{ "clock_offset_ns", MLGEN_F_F64(R, clock_offset_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "How far its clock was ahead of the clock of rank 0 at the start; null = unknown." },
	{ "clock_unsure_ns", MLGEN_F_F64(R, clock_unsure_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Uncertainty of clock_offset_ns: half of the round trip that measured it." },
	{ "jobs", METRIC_LIST(R, job_list, struct metrics_merged_job, metrics_merged_job_fields),
	  .help = "Figures of each job of the run." },
	{ 0 },
};
#undef R

#define M struct metrics_merged
const struct mlgen_field metrics_merged_fields[] = {
	{ "hosts", MLGEN_F_U64(M, hosts), .unit = "hosts",
	  .help = "Hosts of all runs." },
	{ "turns", MLGEN_F_U64(M, turns), .unit = "turns",
	  .help = "Number of turns, one after the other; a rate is the sum of a turn, and the mean of the turns." },
	{ "overlap_percent", MLGEN_F_PERCENT(M, overlap_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Percent of the time in which all runs of a turn ran together, for the turn with the least; null = no runs side by side." },
	{ "runs", METRIC_LIST(M, run_list, struct metrics_merged_run, metrics_merged_run_fields),
	  .help = "Each run that is in this report." },
	{ 0 },
};
#undef M

#define P struct metrics_probe
const struct mlgen_field metrics_probe_fields[] = {
	{ "value", MLGEN_F_U64(P, value),
	  .help = "Value of the option in this run; for --find-min in percent." },
	{ "full", MLGEN_F_BOOL(P, full),
	  .help = "True for a run as long as the job; short runs only narrow the range." },
	{ "possible", MLGEN_F_BOOL(P, possible),
	  .help = "True if the job can run with this value." },
	{ "holds", MLGEN_F_BOOL(P, holds),
	  .help = "True if the requirement was met." },
	{ "cut_short", MLGEN_F_BOOL(P, cut_short),
	  .help = "True for a full run that ended after its first epoch, because it could not reach the required AU." },
	{ "figures", METRIC_F64S(P, figure_list),
	  .help = "Figure for each part of the requirement, in the same order; null = unknown." },
	{ "margin_percent", MLGEN_F_F64(P, margin_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Distance of the worst part of the requirement from its limit, in percent of the limit; negative = missed." },
	{ "au_percent", MLGEN_F_PERCENT(P, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "AU of the job that --find-max varies." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(P, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Its throughput." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(P, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Payload that its accelerators need at an AU of 100 %." },
	{ "stall_p99_ns", MLGEN_F_F64(P, stall_p99_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "The 99th percentile of its stalls." },
	{ "supply_percent", MLGEN_F_F64(P, supply_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "For short probes and short epochs, in which AU hardly shows the waiting: throughput of read threads while they were not idle, in percent of what the accelerators need. The requirement fails if it is less than the required AU. null = a full run with epochs that are long enough." },
	{ "steps", MLGEN_F_U64(P, steps), .flags = MLGEN_NULLABLE,
	  .help = "Steps of one of its accelerators." },
	{ "seconds", MLGEN_F_F64(P, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the run." },
	{ "errors", MLGEN_F_U64(P, errors), .unit = "errors",
	  .help = "Errors of all jobs that continue_on_error counted." },
	{ "too_many_errors", MLGEN_F_BOOL(P, too_many_errors),
	  .help = "True if a job had more errors than its max_errors allows; then the requirement is not met." },
	{ "verdict", METRICS_CHARS(P, verdict),
	  .help = "Verdict of the run, see jobs[].ml.verdict; also errors if another job had too many." },
	{ "error", METRICS_CHARS(P, error),
	  .help = "Why the run was not possible; null = it was possible." },
	{ 0 },
};
#undef P

#define L struct metrics_answer_line
const struct mlgen_field metrics_answer_line_fields[] = {
	{ "label", METRICS_TEXT(L, label),
	  .help = "Label of the line: ANSWER, limit, fits, play it, host, jobs, sure or but; null = none." },
	{ "text", MLGEN_F_STR(L, text), .help = "Text of the line, without line breaks." },
	{ 0 },
};
#undef L

#define F struct metrics_find_max
const struct mlgen_field metrics_find_max_fields[] = {
	{ "option", METRICS_TEXT(F, option), .help = "Option that was varied." },
	{ "job", METRICS_TEXT(F, job), .help = "Job of this option." },
	{ "question", METRICS_TEXT(F, question), .help = "The question, as printed on the terminal." },
	{ "lines", METRIC_LIST(F, lines, struct metrics_answer_line, metrics_answer_line_fields),
	  .help = "The answer, as printed on the terminal, line by line." },
	{ "requirement", METRICS_TEXT(F, requirement), .help = "The requirement." },
	{ "smallest", MLGEN_F_BOOL(F, smallest),
	  .help = "True for --find-min, which searches the smallest value, in percent of the dataset." },
	{ "answer", MLGEN_F_U64(F, answer), .flags = MLGEN_NULLABLE,
	  .help = "Largest value that surely meets the requirement, for --find-min the smallest; null = none was found." },
	{ "at_most", MLGEN_F_U64(F, at_most), .flags = MLGEN_NULLABLE,
	  .help = "Largest value that may meet it, because full runs gave both results; equal to answer if that is sure." },
	{ "limited_by", MLGEN_F_U64(F, limited_by), .flags = MLGEN_NULLABLE,
	  .help = "Smallest value that does not meet it or is not possible, for --find-min the largest; null = none was found." },
	{ "limit", METRICS_TEXT(F, limit),
	  .help = "What is the limit there: storage, network, memory, host (more storage would not help), compute, errors, unclear, not possible, files (the dataset has too few), or option (its largest value); null = unknown." },
	{ "limit_bytes_per_sec", MLGEN_F_F64(F, limit_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Highest throughput of any run, without page caches; for short epochs of one accelerator, throughput of read threads while they were not idle. null = not measured." },
	{ "fraction", MLGEN_F_F64(F, fraction), .flags = MLGEN_NULLABLE,
	  .help = "The fraction of one accelerator that storage feeds at the required AU, if it cannot feed one; divide compute_time by it to simulate such an accelerator. null = storage feeds one, or is not the limit." },
	{ "confirmed", MLGEN_F_BOOL(F, confirmed),
	  .help = "True if full runs confirmed both sides of the answer." },
	{ "noise_percent", MLGEN_F_F64(F, noise_percent), .unit = "%",
	  .help = "Spread of repeated runs in percent of the limit, at least 1; results closer to the limit are repeated." },
	{ "ceiling_percent", MLGEN_F_PERCENT(F, ceiling_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "AU that this host reaches without storage, with the value limited_by." },
	{ "interrupted", MLGEN_F_BOOL(F, interrupted),
	  .help = "True if the search was stopped; the answer is the state at that time." },
	{ "probes", METRIC_LIST(F, probes, struct metrics_probe, metrics_probe_fields),
	  .help = "All runs, in order." },
	{ 0 },
};
#undef F

/* clang-format on */
