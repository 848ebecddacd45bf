/* SPDX-License-Identifier: Apache-2.0 */
/* job_check.c - what relates two options of a job. */
#include "job/job.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "job/job_check_io.h"

/* The kernel's own limit of threads: 2^22, pid_max in proc(5). */
#define THREADS_MAX 4194304.0
/* Samples that loaders may hold ready; each costs a token. */
#define READY_MAX 2147483648.0
/* Offsets are off_t. */
#define BYTES_MAX 9223372036854775807.0
/* Above any machine's CPUs and nodes, and against overflow of the number. */
#define CPUS_MAX 8192

#define FAULT(d, j, option, ...)                                               \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

static void check_times(const struct job *j, struct diag *d)
{
	if (j->time_based && !j->runtime_ns)
		FAULT(d, j, "time_based",
		      "needs a runtime; set runtime=60s, or drop time_based");
}

static void check_dataset(const struct job *j, struct diag *d)
{
	double bytes = (double)j->num_files * (double)j->samples_per_file *
		       dist_mean(&j->sample_size);

	if (bytes > BYTES_MAX)
		FAULT(d, j, "sample_size",
		      "the dataset would have more than 8 EiB; lower "
		      "sample_size, num_files or samples_per_file");
	if (j->subfolders > j->num_files)
		FAULT(d, j, "subfolders",
		      "%" PRIu64 " folders for %" PRIu64 " files; some would "
		      "be empty",
		      j->subfolders, j->num_files);
}

static void check_loader(const struct job *j, struct diag *d)
{
	double threads = (double)j->accelerators * (double)j->read_threads;
	double per_batch =
		j->loader == LOADER_PYTORCH ? threads : (double)j->accelerators;
	double ready = (double)j->prefetch * (double)j->batch_size * per_batch;

	if (threads > THREADS_MAX)
		FAULT(d, j, "read_threads",
		      "%" PRIu64 " for each of %" PRIu64 " accelerators are "
		      "more than the %.0f threads that Linux can have",
		      j->read_threads, j->accelerators, THREADS_MAX);
	if (ready > READY_MAX)
		FAULT(d, j, "prefetch",
		      "%.0f samples would be ready at once, at most %.0f can "
		      "be; lower prefetch, batch_size or read_threads",
		      ready, READY_MAX);
}

static void check_direct(const struct job *j, struct diag *d)
{
	const struct mlgen_engine *e = j->engine;

	if (!j->direct || (e->caps & MLGEN_CAP_NO_FILES))
		return;
	if (!(e->caps & MLGEN_CAP_DIRECT))
		FAULT(d, j, "direct",
		      "ioengine=%s cannot move files opened with O_DIRECT; "
		      "use direct=0 or ioengine=psync",
		      e->name);
	if (j->phase != PHASE_IO && j->access == ACCESS_PLAIN &&
	    j->bs.read % 512)
		FAULT(d, j, "bs",
		      "%" PRIu64 " is no multiple of 512, which direct=1 needs",
		      j->bs.read);
}

static bool is_set(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	return j->origins[f - job_fields].raw != NULL;
}

/* Only for formats that a framework reads. */
static void check_access(const struct job *j, struct diag *d)
{
	if (j->access != ACCESS_FRAMEWORK)
		return;
	if (j->format == FORMAT_RAW)
		FAULT(d, j, "access",
		      "framework means the calls of what reads a format, and "
		      "no framework has calls for format=raw; use "
		      "access=plain, or format=npz");
	else if (is_set(j, "bs"))
		diag_add(d, DIAG_NOTE, job_place(j, "bs"),
			 "bs: access=framework has sizes of its own; bs counts "
			 "with access=plain");
}

/* The io layer does metadata operations itself, but never these. */
static void check_engine(const struct job *j, struct diag *d)
{
	const struct mlgen_engine *e = j->engine;

	if (j->phase == PHASE_TRAIN && !(e->caps & MLGEN_CAP(MLGEN_READ)))
		FAULT(d, j, "ioengine",
		      "%s cannot read; phase=train needs an engine that can",
		      e->name);
	if (!e->reap && j->iodepth > 1)
		diag_add(d, DIAG_NOTE, job_place(j, "iodepth"),
			 "iodepth: ioengine=%s does one request at a time; 1 "
			 "is used, and more %s do more at once",
			 e->name,
			 j->phase == PHASE_IO ? "numjobs" : "read_threads");
	if (j->phase == PHASE_PREPARE && !(e->caps & MLGEN_CAP(MLGEN_WRITE)))
		FAULT(d, j, "ioengine",
		      "%s cannot write; phase=prepare needs an engine that can",
		      e->name);
}

static void check_percentiles(const struct job *j, struct diag *d)
{
	const struct f64_list *list = &j->percentile_list;

	for (unsigned i = 0; i < list->count; i++) {
		for (unsigned k = 0; k < i; k++) {
			if (list->values[i] <= list->values[k] &&
			    list->values[i] >= list->values[k])
				FAULT(d, j, "percentile_list",
				      "%g stands in the list twice",
				      list->values[i]);
		}
	}
}

/* The number of a CPU or node; the rest of the text, or NULL. */
static const char *read_cpu(const char *s, unsigned *cpu)
{
	*cpu = 0;
	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++) {
		*cpu = *cpu * 10 + (unsigned)(*s - '0');
		if (*cpu >= CPUS_MAX)
			return NULL;
	}
	return s;
}

static bool is_number_list(const char *s)
{
	for (;; s++) {
		unsigned first = 0, last = 0;

		s = read_cpu(s, &first);
		if (s && *s == '-')
			s = read_cpu(s + 1, &last);
		else
			last = first;
		if (!s || last < first || (*s && *s != ','))
			return false;
		if (!*s)
			return true;
	}
}

static void check_cpus(const struct job *j, struct diag *d)
{
	if (j->cpus_allowed && !is_number_list(j->cpus_allowed))
		FAULT(d, j, "cpus_allowed",
		      "'%s' is no list of CPUs; write numbers and ranges with "
		      "commas, such as 0-3,8",
		      j->cpus_allowed);
	if (j->numa_cpu_nodes && strcmp(j->numa_cpu_nodes, "all") != 0 &&
	    !is_number_list(j->numa_cpu_nodes))
		FAULT(d, j, "numa_cpu_nodes",
		      "'%s' is no list of NUMA nodes; write numbers and ranges "
		      "with commas, such as 0,2-3, or all",
		      j->numa_cpu_nodes);
}

static void check_target(const struct job *j, struct diag *d)
{
	if (j->target_au > 0 && dist_mean(&j->compute_time) <= 0)
		diag_add(d, DIAG_NOTE, job_place(j, "compute_time"),
			 "compute_time: 0 leaves no accelerator utilisation to "
			 "compare with target_au");
}

static void check_training(const struct job *j, struct diag *d)
{
	check_dataset(j, d);
	check_loader(j, d);
	check_access(j, d);
	check_target(j, d);
}

void job_check(const struct job *j, struct diag *d)
{
	check_times(j, d);
	check_percentiles(j, d);
	check_cpus(j, d);
	if (j->phase == PHASE_IO)
		job_check_io(j, d);
	else
		check_training(j, d);
	if (j->engine) {
		check_direct(j, d);
		check_engine(j, d);
	}
}
