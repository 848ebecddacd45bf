/* SPDX-License-Identifier: Apache-2.0 */
/* fio_options.c - options of fio, DLIO and PyTorch, to explain or ignore those that mlgen lacks. */
#include "job/job_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "field/fields.h"

/* clang-format off */
const struct fio_option fio_options[] = {
	{ "allow_file_create", NULL, "mlgen always behaves this way", "1" },
	{ "allow_mounted_write", "see --allow_device", "mlgen always behaves this way", "0" },
	{ "allrandrepeat", NULL, "randseed alone decides the order", NULL },
	{ "apptag", NULL, NULL, NULL },
	{ "apptag_mask", NULL, NULL, NULL },
	{ "arguments", "belongs to fio's ioengine=exec", NULL, NULL },
	{ "atomic", NULL, "mlgen always behaves this way", "0" },
	{ "ba", NULL, NULL, NULL },
	{ "bindname", "belongs to fio's ioengine=rdma", NULL, NULL },
	{ "block_error_percentiles", NULL, NULL, NULL },
	{ "blockalign", NULL, NULL, NULL },
	{ "blocksize", NULL, NULL, NULL },
	{ "blocksize_range", "use bssplit", NULL, NULL },
	{ "blocksize_unaligned", NULL, "mlgen always behaves this way", "0" },
	{ "brick", "belongs to fio's ioengine=gfapi", NULL, NULL },
	{ "bs", NULL, NULL, NULL },
	{ "bs_is_seq_rand", NULL, NULL, NULL },
	{ "bs_unaligned", NULL, "mlgen always behaves this way", "0" },
	{ "bsrange", "use bssplit", NULL, NULL },
	{ "bssplit", NULL, NULL, NULL },
	{ "buffer_compress_chunk", NULL, NULL, NULL },
	{ "buffer_compress_percentage", NULL, "mlgen always behaves this way", "0" },
	{ "buffer_pattern", "contents are random", NULL, NULL },
	{ "buffered", NULL, NULL, NULL },
	{ "busy_poll", "belongs to fio's ioengine=rados", NULL, NULL },
	{ "bwavgtime", NULL, "bandwidth is sampled every 500 ms", NULL },
	{ "cgroup", "start mlgen in the control group", NULL, NULL },
	{ "cgroup_nodelete", NULL, NULL, NULL },
	{ "cgroup_weight", NULL, NULL, NULL },
	{ "clat_percentiles", NULL, "percentile_list applies to all latencies", NULL },
	{ "clientname", "belongs to fio's ioengine=rados", NULL, NULL },
	{ "clocksource", NULL, "mlgen always uses the monotonic clock", NULL },
	{ "clustername", "belongs to fio's ioengine=rados", NULL, NULL },
	{ "cmd_type", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "cmdprio", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "cmdprio_bssplit", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "cmdprio_class", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "cmdprio_percentage", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "conf", "belongs to fio's ioengine=rados", NULL, NULL },
	{ "continue_on_error", NULL, NULL, NULL },
	{ "cpuchunks", "belongs to fio's ioengine=cpuio", NULL, NULL },
	{ "cpuload", "belongs to fio's ioengine=cpuio", NULL, NULL },
	{ "cpumask", "use cpus_allowed", NULL, NULL },
	{ "cpumode", "belongs to fio's ioengine=cpuio", NULL, NULL },
	{ "cpus_allowed", NULL, NULL, NULL },
	{ "cpus_allowed_policy", NULL, NULL, NULL },
	{ "create_fsync", NULL, "files to read are created with content, and synced", NULL },
	{ "create_on_open", NULL, "mlgen always behaves this way", "0" },
	{ "create_only", NULL, NULL, NULL },
	{ "create_serialize", NULL, "missing files are created before the measurement", NULL },
	{ "cuda_io", "belongs to fio's ioengine=libcufile", NULL, NULL },
	{ "data_placement", NULL, NULL, NULL },
	{ "dataplacement", NULL, NULL, NULL },
	{ "deac", NULL, NULL, NULL },
	{ "dedupe_global", NULL, NULL, NULL },
	{ "dedupe_mode", NULL, NULL, NULL },
	{ "dedupe_percentage", NULL, "mlgen always behaves this way", "0" },
	{ "dedupe_working_set_percentage", NULL, NULL, NULL },
	{ "description", NULL, "it is a comment for people who read the file", NULL },
	{ "direct", NULL, NULL, NULL },
	{ "directory", NULL, NULL, NULL },
	{ "disable_bw", NULL, "statistics are always full", NULL },
	{ "disable_bw_measurement", NULL, "statistics are always full", NULL },
	{ "disable_clat", NULL, "statistics are always full", NULL },
	{ "disable_lat", NULL, "statistics are always full", NULL },
	{ "disable_slat", NULL, "statistics are always full", NULL },
	{ "disk_util", NULL, "counters of the devices are always reported", NULL },
	{ "do_verify", NULL, "mlgen always behaves this way", "0" },
	{ "donorname", "belongs to fio's ioengine=e4defrag", NULL, NULL },
	{ "dp_scheme", NULL, NULL, NULL },
	{ "end_fsync", NULL, NULL, NULL },
	{ "end_syncfs", NULL, NULL, NULL },
	{ "error_dump", NULL, NULL, NULL },
	{ "exec_postrun", "a script around mlgen can", NULL, NULL },
	{ "exec_prerun", "a script around mlgen can", NULL, NULL },
	{ "exit_on_io_done", "belongs to fio's ioengine=cpuio", NULL, NULL },
	{ "exit_what", NULL, NULL, NULL },
	{ "exitall", NULL, "mlgen always behaves this way", "0" },
	{ "exitall_on_error", NULL, "mlgen always behaves this way", "0|1" },
	{ "experimental_verify", NULL, NULL, NULL },
	{ "fadvise_hint", NULL, "mlgen always behaves this way", "0" },
	{ "fallocate", NULL, "missing files are created with content, or with fallocate for a job that only writes", NULL },
	{ "fdatasync", NULL, NULL, NULL },
	{ "fdp", NULL, NULL, NULL },
	{ "fdp_pli", NULL, NULL, NULL },
	{ "fdp_pli_select", NULL, NULL, NULL },
	{ "file_append", "use offset", "mlgen always behaves this way", "0" },
	{ "file_service_type", "the files of filename= are used in turn", "mlgen always behaves this way", "roundrobin" },
	{ "filename", NULL, NULL, NULL },
	{ "filename_format", "use filename", NULL, NULL },
	{ "fileoffset", NULL, NULL, NULL },
	{ "filesize", NULL, NULL, NULL },
	{ "fill_device", NULL, "mlgen always behaves this way", "0" },
	{ "fill_fs", NULL, "mlgen always behaves this way", "0" },
	{ "fixedbufs", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "flow", NULL, NULL, NULL },
	{ "flow_id", NULL, NULL, NULL },
	{ "flow_sleep", NULL, NULL, NULL },
	{ "flow_watermark", NULL, NULL, NULL },
	{ "force_async", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "fsync", NULL, NULL, NULL },
	{ "fsync_on_close", "use end_fsync", "mlgen always behaves this way", "0" },
	{ "gid", "start mlgen as that user", NULL, NULL },
	{ "gpu_dev_ids", "belongs to fio's ioengine=libcufile", NULL, NULL },
	{ "grace_time", "belongs to fio's ioengine=exec", NULL, NULL },
	{ "group_reporting", NULL, NULL, NULL },
	{ "gtod_cpu", NULL, "each thread reads the clock itself", NULL },
	{ "gtod_reduce", NULL, "statistics are always full", NULL },
	{ "hipri", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "hipri_percentage", "belongs to fio's ioengine=pvsync2", NULL, NULL },
	{ "hostname", "belongs to fio's ioengine=net", NULL, NULL },
	{ "http_host", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_mode", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_object_mode", NULL, NULL, NULL },
	{ "http_pass", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_s3_key", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_s3_keyid", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_s3_region", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_s3_security_token", NULL, NULL, NULL },
	{ "http_s3_storage_class", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_user", "belongs to fio's ioengine=http", NULL, NULL },
	{ "http_verbose", NULL, NULL, NULL },
	{ "https", "belongs to fio's ioengine=http", NULL, NULL },
	{ "hugepage-size", "huge pages have the host's default size", NULL, NULL },
	{ "ignore_error", NULL, NULL, NULL },
	{ "ignore_zone_limits", NULL, NULL, NULL },
	{ "inplace", "belongs to fio's ioengine=e4defrag", NULL, NULL },
	{ "interface", "belongs to fio's ioengine=net", NULL, NULL },
	{ "invalidate", NULL, NULL, NULL },
	{ "io_limit", NULL, NULL, NULL },
	{ "io_size", NULL, NULL, NULL },
	{ "io_submit_mode", NULL, "mlgen always behaves this way", "inline" },
	{ "iodepth", NULL, NULL, NULL },
	{ "iodepth_batch", NULL, NULL, NULL },
	{ "iodepth_batch_complete", NULL, NULL, NULL },
	{ "iodepth_batch_complete_max", NULL, NULL, NULL },
	{ "iodepth_batch_complete_min", NULL, NULL, NULL },
	{ "iodepth_batch_submit", NULL, NULL, NULL },
	{ "iodepth_low", "use iodepth_batch_complete_min", NULL, NULL },
	{ "ioengine", NULL, NULL, NULL },
	{ "iomem", NULL, NULL, NULL },
	{ "iomem_align", NULL, "buffers are aligned to pages", NULL },
	{ "iopsavgtime", NULL, "IOPS are sampled every 500 ms", NULL },
	{ "ioscheduler", "write to queue/scheduler of the device in /sys", NULL, NULL },
	{ "job_max_open_zones", NULL, NULL, NULL },
	{ "job_start_clock_id", NULL, NULL, NULL },
	{ "kb_base", NULL, NULL, NULL },
	{ "lat_percentiles", NULL, "percentile_list applies to all latencies", NULL },
	{ "latency_percentile", NULL, NULL, NULL },
	{ "latency_run", NULL, "mlgen always behaves this way", "0" },
	{ "latency_target", "use --find-max=iodepth --require='read.clat_ns.p99<=1ms'", NULL, NULL },
	{ "latency_window", NULL, NULL, NULL },
	{ "libaio_vectored", "belongs to fio's ioengine=libaio", NULL, NULL },
	{ "listen", "belongs to fio's ioengine=net", NULL, NULL },
	{ "lockfile", NULL, "mlgen always behaves this way", "none" },
	{ "lockmem", NULL, "mlgen always behaves this way", "0" },
	{ "log_alternate_epoch", NULL, NULL, NULL },
	{ "log_alternate_epoch_clock_id", NULL, NULL, NULL },
	{ "log_avg_msec", "use --log and --log_interval", NULL, NULL },
	{ "log_compression", NULL, NULL, NULL },
	{ "log_compression_cpus", NULL, NULL, NULL },
	{ "log_entries", NULL, NULL, NULL },
	{ "log_hist_coarseness", NULL, NULL, NULL },
	{ "log_hist_msec", NULL, NULL, NULL },
	{ "log_issue_time", NULL, NULL, NULL },
	{ "log_max_value", NULL, NULL, NULL },
	{ "log_offset", NULL, NULL, NULL },
	{ "log_prio", NULL, NULL, NULL },
	{ "log_store_compressed", NULL, NULL, NULL },
	{ "log_unix_epoch", NULL, NULL, NULL },
	{ "log_window_value", NULL, NULL, NULL },
	{ "loops", NULL, NULL, NULL },
	{ "max_latency", "use --require", NULL, NULL },
	{ "max_open_zones", NULL, NULL, NULL },
	{ "md_per_io_size", NULL, NULL, NULL },
	{ "mem", NULL, NULL, NULL },
	{ "mem_align", NULL, "buffers are aligned to pages", NULL },
	{ "merge_blktrace_file", NULL, NULL, NULL },
	{ "merge_blktrace_iters", NULL, NULL, NULL },
	{ "merge_blktrace_scalars", NULL, NULL, NULL },
	{ "mss", "belongs to fio's ioengine=net", NULL, NULL },
	{ "name", NULL, "the section's header is the name", NULL },
	{ "new_group", "use stonewall", NULL, NULL },
	{ "nfs_url", "belongs to fio's ioengine=nfs", NULL, NULL },
	{ "nice", "start mlgen with nice", "mlgen always behaves this way", "0" },
	{ "nodelay", "belongs to fio's ioengine=net", NULL, NULL },
	{ "nonvectored", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "norandommap", NULL, NULL, NULL },
	{ "nowait", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "nr_files", "use filename, with ':' between the files", "mlgen always behaves this way", "1" },
	{ "nrfiles", "use filename, with ':' between the files", "mlgen always behaves this way", "1" },
	{ "num_range", NULL, NULL, NULL },
	{ "numa_cpu_nodes", NULL, NULL, NULL },
	{ "numa_mem_policy", "buffers lie on the node where the thread runs", NULL, NULL },
	{ "number_ios", "use io_size", "mlgen always behaves this way", "0" },
	{ "numjobs", NULL, NULL, NULL },
	{ "offset", NULL, NULL, NULL },
	{ "offset_align", NULL, "mlgen always behaves this way", "0" },
	{ "offset_increment", "use offset, in a separate section for each", "mlgen always behaves this way", "0" },
	{ "opendir", "use filename", NULL, NULL },
	{ "openfiles", "all files of a job stay open", "all files of a job stay open", NULL },
	{ "overwrite", "a job with rw=write before this one fills the file", "mlgen always behaves this way", "0" },
	{ "per_job_logs", NULL, "--log has a row for each job", NULL },
	{ "percentage_random", "use a separate section", "mlgen always behaves this way", "100" },
	{ "percentage_sequential", NULL, NULL, NULL },
	{ "percentile_list", NULL, NULL, NULL },
	{ "pi_act", NULL, NULL, NULL },
	{ "pi_chk", NULL, NULL, NULL },
	{ "pingpong", "belongs to fio's ioengine=net", NULL, NULL },
	{ "plid_select", NULL, NULL, NULL },
	{ "plids", NULL, NULL, NULL },
	{ "pool", "belongs to fio's ioengine=rados", NULL, NULL },
	{ "port", "belongs to fio's ioengine=net", NULL, NULL },
	{ "pre_read", "use invalidate=0, with the file in the page cache", "mlgen always behaves this way", "0" },
	{ "prio", "start mlgen with ionice", NULL, NULL },
	{ "prioclass", "start mlgen with ionice", NULL, NULL },
	{ "profile", NULL, NULL, NULL },
	{ "program", "belongs to fio's ioengine=exec", NULL, NULL },
	{ "protocol", "belongs to fio's ioengine=net", NULL, NULL },
	{ "ramp_size", NULL, NULL, NULL },
	{ "ramp_time", NULL, NULL, NULL },
	{ "random_distribution", "use rw", "mlgen always behaves this way", "random" },
	{ "random_generator", NULL, "a permutation selects each random block once", NULL },
	{ "randrepeat", NULL, "randseed alone decides the order", NULL },
	{ "randseed", NULL, NULL, NULL },
	{ "rate", NULL, NULL, NULL },
	{ "rate_cycle", NULL, NULL, NULL },
	{ "rate_ignore_thinktime", NULL, "mlgen always behaves this way", "0" },
	{ "rate_iops", NULL, NULL, NULL },
	{ "rate_iops_min", "mlgen reports a missed rate", NULL, NULL },
	{ "rate_min", "mlgen reports a missed rate", NULL, NULL },
	{ "rate_process", "requests are evenly spaced", "mlgen always behaves this way", "linear" },
	{ "ratecycle", NULL, NULL, NULL },
	{ "ratemin", "mlgen reports a missed rate", NULL, NULL },
	{ "rbdname", "belongs to fio's ioengine=rados", NULL, NULL },
	{ "read_beyond_wp", NULL, NULL, NULL },
	{ "read_iolog", NULL, NULL, NULL },
	{ "read_iolog_chunked", NULL, "mlgen always behaves this way", NULL },
	{ "readfua", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "readwrite", NULL, NULL, NULL },
	{ "recover_zbd_write_error", NULL, NULL, NULL },
	{ "refill_buffers", NULL, "written data never repeats", NULL },
	{ "registerfiles", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "replay_align", NULL, "mlgen always behaves this way", "0" },
	{ "replay_no_stall", "use replay_time=asap", "mlgen always behaves this way", "0" },
	{ "replay_redirect", "use directory: the replay's files are below it, with the names of the trace", NULL, NULL },
	{ "replay_scale", NULL, "mlgen always behaves this way", "0|1" },
	{ "replay_skip", NULL, NULL, NULL },
	{ "replay_time_scale", "use replay_speed: 2 for replay_time_scale=200", "mlgen always behaves this way", "100" },
	{ "runtime", NULL, NULL, NULL },
	{ "rw", NULL, NULL, NULL },
	{ "rw_sequencer", NULL, "mlgen always behaves this way", "sequential" },
	{ "rwmixcycle", NULL, NULL, NULL },
	{ "rwmixread", NULL, NULL, NULL },
	{ "rwmixwrite", NULL, NULL, NULL },
	{ "scramble_buffers", NULL, "written data never repeats", NULL },
	{ "serialize_overlap", NULL, "mlgen always behaves this way", "0" },
	{ "sg_write_mode", "belongs to fio's ioengine=sg", NULL, NULL },
	{ "significant_figures", NULL, "figures have four significant digits", NULL },
	{ "size", NULL, NULL, NULL },
	{ "skip_bad", "belongs to fio's ioengine=mtd", NULL, NULL },
	{ "slat_percentiles", NULL, "percentile_list applies to all latencies", NULL },
	{ "softrandommap", NULL, "random order needs no map of blocks in memory", NULL },
	{ "spr_cs", NULL, NULL, NULL },
	{ "spr_num_regions", NULL, NULL, NULL },
	{ "spr_op", NULL, NULL, NULL },
	{ "sprandom", NULL, NULL, NULL },
	{ "sqthread_poll", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "sqthread_poll_cpu", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "ss", "use ramp_time", NULL, NULL },
	{ "ss_dur", NULL, NULL, NULL },
	{ "ss_interval", NULL, NULL, NULL },
	{ "ss_ramp", NULL, NULL, NULL },
	{ "startdelay", NULL, NULL, NULL },
	{ "stat_type", "belongs to fio's ioengine=filestat", NULL, NULL },
	{ "stats", NULL, "mlgen always behaves this way", "1" },
	{ "std_redirect", "belongs to fio's ioengine=exec", NULL, NULL },
	{ "steadystate", "use ramp_time", NULL, NULL },
	{ "steadystate_check_interval", NULL, NULL, NULL },
	{ "steadystate_duration", NULL, NULL, NULL },
	{ "steadystate_ramp_time", NULL, NULL, NULL },
	{ "stonewall", NULL, NULL, NULL },
	{ "stream_id", "belongs to fio's ioengine=sg", NULL, NULL },
	{ "sync", "use fsync or fdatasync", "mlgen always behaves this way", "0|none" },
	{ "sync_file_range", NULL, NULL, NULL },
	{ "thinkcycles", NULL, NULL, NULL },
	{ "thinktime", NULL, NULL, NULL },
	{ "thinktime_blocks", NULL, NULL, NULL },
	{ "thinktime_blocks_type", "use thinktime_blocks", "mlgen always behaves this way", "complete" },
	{ "thinktime_iotime", "use thinktime_blocks", NULL, NULL },
	{ "thinktime_spin", "use thinktime", "mlgen always behaves this way", "0" },
	{ "thp", "belongs to fio's ioengine=mmap", NULL, NULL },
	{ "thread", NULL, "workers are always threads", NULL },
	{ "threads", "use numjobs in a plain job, read_threads and accelerators in a training", NULL, NULL },
	{ "time_based", NULL, NULL, NULL },
	{ "timeout", NULL, NULL, NULL },
	{ "touch_objects", "belongs to fio's ioengine=rados", NULL, NULL },
	{ "trim_backlog", NULL, NULL, NULL },
	{ "trim_backlog_batch", NULL, NULL, NULL },
	{ "trim_percentage", NULL, NULL, NULL },
	{ "trim_verify_zero", NULL, NULL, NULL },
	{ "ttl", "belongs to fio's ioengine=net", NULL, NULL },
	{ "uid", "start mlgen as that user", NULL, NULL },
	{ "uncached", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "unified_rw_reporting", "reads and writes are reported separately", "mlgen always behaves this way", "0|none" },
	{ "unique_filename", NULL, "mlgen always behaves this way", "1" },
	{ "unit_base", NULL, "bandwidth is in bytes", NULL },
	{ "unlink", "files are never deleted", "mlgen always behaves this way", "0" },
	{ "unlink_each_loop", "files are never deleted", "mlgen always behaves this way", "0" },
	{ "uri", "belongs to fio's ioengine=nbd", NULL, NULL },
	{ "userspace_reap", "belongs to fio's ioengine=libaio", NULL, NULL },
	{ "verb", "belongs to fio's ioengine=rdma", NULL, NULL },
	{ "verify", NULL, NULL, NULL },
	{ "verify_async", NULL, NULL, NULL },
	{ "verify_async_cpus", NULL, NULL, NULL },
	{ "verify_backlog", NULL, NULL, NULL },
	{ "verify_backlog_batch", NULL, NULL, NULL },
	{ "verify_dump", NULL, NULL, NULL },
	{ "verify_fatal", NULL, NULL, NULL },
	{ "verify_header_seed", NULL, NULL, NULL },
	{ "verify_interval", NULL, NULL, NULL },
	{ "verify_offset", NULL, NULL, NULL },
	{ "verify_only", NULL, NULL, NULL },
	{ "verify_pattern", NULL, NULL, NULL },
	{ "verify_pattern_interval", NULL, NULL, NULL },
	{ "verify_state_load", NULL, NULL, NULL },
	{ "verify_state_save", NULL, NULL, NULL },
	{ "verify_write_sequence", NULL, NULL, NULL },
	{ "verifysort", NULL, NULL, NULL },
	{ "verifysort_nr", NULL, NULL, NULL },
	{ "volume", "belongs to fio's ioengine=gfapi", NULL, NULL },
	{ "wait_for", "use stonewall", NULL, NULL },
	{ "wait_for_previous", NULL, NULL, NULL },
	{ "window_size", "belongs to fio's ioengine=net", NULL, NULL },
	{ "write_barrier", NULL, NULL, NULL },
	{ "write_bw_log", "use --log and --log_interval", NULL, NULL },
	{ "write_hint", NULL, "mlgen always behaves this way", "none" },
	{ "write_hist_log", NULL, NULL, NULL },
	{ "write_iolog", NULL, NULL, NULL },
	{ "write_iops_log", "use --log and --log_interval", NULL, NULL },
	{ "write_lat_log", "use --log and --log_interval", NULL, NULL },
	{ "write_mode", NULL, NULL, NULL },
	{ "write_zone_remainder", NULL, NULL, NULL },
	{ "writefua", "belongs to fio's ioengine=io_uring", NULL, NULL },
	{ "zero_buffers", "contents are random", "mlgen always behaves this way", "0" },
	{ "zone_reset_frequency", NULL, NULL, NULL },
	{ "zone_reset_threshold", NULL, NULL, NULL },
	{ "zonecapacity", NULL, NULL, NULL },
	{ "zonemode", "use size, io_size and offset", "mlgen always behaves this way", "none" },
	{ "zonerange", NULL, NULL, NULL },
	{ "zonesize", NULL, NULL, NULL },
	{ "zoneskip", NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};
/* clang-format on */

const struct fio_option *fio_option_find(const char *name)
{
	for (const struct fio_option *o = fio_options; o->name; o++) {
		if (field_name_equal(o->name, name))
			return o;
	}
	return NULL;
}

bool fio_option_is_harmless(const struct fio_option *o, const char *value)
{
	size_t len = strlen(value);
	const char *word = o && o->note ? o->when : "";

	if (!word)
		return true;
	while (*word) {
		size_t word_len = strcspn(word, "|");

		if (word_len == len && strncmp(word, value, len) == 0)
			return true;
		word += word_len;
		word += *word == '|';
	}
	return false;
}

/* ---- DLIO and PyTorch ---- */

/* Names that people use, but that no help text contains. */
static const struct {
	const char *name, *option;
} colloquial[] = {
	{ "batch", "batch_size" },
	{ "workers", "read_threads (in a plain job: numjobs)" },
};

static bool is_word(char c)
{
	return c == '_' || isalnum((unsigned char)c);
}

/* Compare `len` characters like field_name_equal(), with '-' equal to '_'. */
static bool is_same(const char *text, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != (name[i] == '-' ? '_' : name[i]))
			return false;
	return true;
}

/* Does the text contain `name`, as a word or as the last part of a DLIO key? The text begins with a
 * line break. */
static bool has_name(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text + 1; strlen(at) >= len; at++) {
		bool is_begin = (at[-1] == ' ' || at[-1] == '.') && is_same(at, name, len);

		if (is_begin && !is_word(at[len]) && !(at[len] == '.' && is_word(at[len + 1])))
			return true;
	}
	return false;
}

/* The lines of a help text that begin with the name of a program. */
static const char *names_in(const char *help)
{
	const char *dlio = strstr(help, "\nDLIO: ");

	return dlio ? dlio : strstr(help, "\nPyTorch: ");
}

const char *foreign_option(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(colloquial); i++)
		if (field_name_equal(colloquial[i].name, name))
			return colloquial[i].option;
	/* A single word may occur in the sentence without being a name. */
	if (!strpbrk(name, "_-."))
		return NULL;
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		const char *names = f->help ? names_in(f->help) : NULL;

		if (names && has_name(names, name))
			return f->name;
	}
	return NULL;
}
