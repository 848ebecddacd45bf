/* SPDX-License-Identifier: Apache-2.0 */
/* words.js - what a page calls the members of documents. */
/* ---- names of members; cells have the unit ---- */

const named = {
	accelerators_seconds: "accelerators", accesses: "accesses after the first epoch", added_bytes: "added to the cache",
	ahead_percent: "forward jumps", ascending_percent: "ascending faults", at_most_bytes: "up to", au_percent: "AU",
	back_percent: "backward jumps", bytes: "size", bytes_gini: "Gini coefficient of bytes", bytes_most_over_mean: "bytes: max / mean",
	bytes_per_sec: "throughput", bytes_per_sec_one: "throughput that one accelerator needs", bytes_written: "bytes written",
	cache_bytes: "added to the page cache", cache_drops: "times that files were dropped from the page cache", caches: "number of caches",
	caches_dropped: "page cache emptied", calls_per_sample: "operations per sample", chained: "in a chain of requests",
	clock_mhz: "mean CPU clock, MHz", clock_steps: "steps of the clock", completed: "completed requests", cpu_percent: "CPU busy",
	cpu_percent_of: "CPU busy: percent of", cpus: "CPUs", cpus_online: "CPUs of the host", cut_short: "stopped early",
	damaged_bytes: "damaged bytes", data_bytes: "size of the dataset", dataset_memory_ratio: "dataset size / memory",
	demand_bytes_per_sec: "throughput needed", demand_io_bytes_per_sec: "throughput needed from files", depth_mean: "mean in flight",
	depth_most: "most in flight", device_kind: "type of device", device_model: "model", device_node: "NUMA node of the device",
	device_paths: "paths to the device", device_read_bytes: "read from the device", device_reads: "reads of the device",
	direct_align_bytes: "alignment for O_DIRECT", dram_joules: "DRAM, J", draw_seconds: "time to draw sample orders",
	entries: "entries of records", estimate: "sizes are estimates", events: "lost records", failed_calls: "failed calls",
	far_percent: "batches from another NUMA node", fault_percent: "time in page faults", faults: "page faults", faults_per_sec: "page faults per second",
	files_kept: "files kept", files_named: "files of the dataset", files_written: "files written", first_seconds: "first loss",
	followed: "consecutive reads", found: "existing dataset", framework_bytes: "memory of the framework (estimate)",
	free_bytes: "free space", full: "full run", guest_percent: "CPU time of virtual machines", has_own_cache: "has its own cache",
	hit_ns: "time of a hit", hit_percent: "hits", hit_ratio_of_all: "hit ratio with the first epoch", holds: "requirement met",
	hostname: "host", hot: "times that heat slowed a CPU", idle_percent: "idle intervals", interval_seconds: "length of an interval",
	in_flight_mean: "mean in flight", io_bytes_per_sample: "bytes read per sample", io_gini: "Gini coefficient of I/O time",
	io_most_over_mean: "I/O time: max / mean", io_percent: "time in I/O", is_complete: "complete", is_exact: "exact", is_full: "directory is full",
	is_memory: "is memory", jobname: "job", jobs_read_bytes: "read by jobs", joules: "total, J", joules_per_gib: "J per GiB",
	joules_per_sample: "J per sample", kept_units: "kept from an earlier run", label_files: "files with labels", largest_bytes: "up to",
	last_seconds: "last loss", least_seconds: "shortest time", left_out: "ignored options", left_over_samples: "samples left over per epoch",
	line_rate_bits_per_sec: "line rate", loader_nodes: "NUMA nodes of read threads", margin_percent: "margin",
	mean_file_bytes: "mean file size", mean_sample_bytes: "mean sample size", memory_percent: "from memory", miss_ns: "time of a miss",
	most_mhz: "highest CPU clock, MHz", mount_options: "mount options", mount_source: "mounted from", mount_target: "mounted at", move_bytes: "bytes to read and write",
	numa_nodes: "NUMA nodes", off_percent: "off the CPU", on_percent: "on the CPU", open_files: "open files", open_files_limit: "limit of open files",
	opens: "opens", opens_unknown: "opens per sample unknown", order_correlation: "correlation with the previous epoch", osts: "OSTs",
	other_calls: "calls on other files", other_percent: "CPU time of other processes", others_seconds: "other threads",
	package_joules: "CPU packages, J", pages: "pages touched", pages_is_exact: "pages are exact", parts: "processes that share a cache",
	peer_ns: "time of a hit in another process", per_mib: "metadata operations per MiB", percent: "line rate used", pid: "process ID", place: "location",
	possible: "can run", present_bytes: "size of existing files", present_estimate: "existing files are estimated", present_files: "existing files",
	pressure_cpu_percent: "threads waiting for a CPU", pressure_io_percent: "threads waiting for I/O", pressure_memory_percent: "threads waiting for memory",
	processes_count: "processes", program_bytes: "memory of mlgen (estimate)", read_ahead_bytes: "read-ahead", read_ahead_percent: "read ahead",
	read_bytes: "read", read_bytes_per_sec: "read throughput", read_files: "files read", reads_in_flight: "reads in flight",
	received_bits_per_sec: "received per second", reread_percent: "read again", resident_before_percent: "in the page cache before the run",
	resident_files: "files checked for the page cache", resident_percent: "in the page cache", row_bytes: "payload of whole rows",
	same_place: "same host and storage", sample_bytes: "payload", sample_bytes_per_sec: "throughput", samples_per_file: "samples per file",
	samples_per_sec: "samples per second", samples_per_sec_one: "samples per second that one accelerator needs", scan_kept_files: "files not scanned again",
	scan_read_bytes: "read by the scan", scan_seconds: "time of the scan", seconds: "time", sent_bytes: "sent to other processes",
	sequential_percent: "sequential reads", served_bytes: "given to other processes", served_samples: "samples given to other processes", size_bytes: "size",
	size_percent: "size in percent", size_samples: "size in samples", slowest_file: "file of the slowest sample", slowest_file_bytes: "size of that file",
	slowest_sample_ns: "time of the slowest sample", source: "source of the figures", stall_p99_ns: "stall p99", start_seconds: "start",
	state_bytes: "memory for bookkeeping", stdev_file_bytes: "standard deviation of file sizes", steal_percent: "CPU time taken by the hypervisor",
	steps_per_epoch: "steps per epoch", submitted: "submitted requests", supply_percent: "throughput of read threads", switches: "context switches",
	switches_per_sec: "context switches per second", switches_unknown: "context switches unknown", system_percent: "CPU of mlgen, system",
	threads_count: "threads", throttled: "times stopped by the CPU quota", throttled_percent: "time stopped by the CPU quota", tid: "thread ID",
	total_steps: "steps", trace_files: "files of the trace", truncated: "files without an end", unbound: "read threads not bound", unlike: "different because",
	uneven: "samples per file differ", unique_bytes: "unique bytes", unique_is_exact: "unique bytes are exact", units: "samples or files",
	unknown: "unknown because", unknown_durations: "records without a duration", unknown_offsets: "reads at unknown offsets",
	unknown_ops: "unknown operations", unmeasured: "not measured because", used_bytes: "used at the end", user_percent: "CPU of mlgen, user",
	verified: "hits verified", wall_ns: "time", warm_units: "filled before the run", whole: "compared as a whole",
	why: "reason", workers_seconds: "read threads and workers", workers_waited_seconds: "waiting for a CPU",
	write_bytes: "bytes to write", write_bytes_per_sec: "write throughput", write_files: "files to write", written_bytes: "written",
	written_files: "files written", wrong: "wrong hits",
};
/* Where time went: names of the shares. */
const part_names = {
	host_barrier: "host barrier", oversleep: "late wake-ups", reap: "waiting for completions", cpu: "on the CPU",
	data: "making or checking data",
};
/* The metrics of a score, as its text report names them. */
const metric_names = {
	m1: "M1 operations", m2: "M2 bytes", m3: "M3 request sizes", m4: "M4 files", m5: "M5 sequence", m6: "M6 rounds", m7: "M7 reuse",
	m8: "M8 think time", m9: "M9 steps", m10: "M10 concurrency", m11: "M11 bandwidth", m12: "M12 kernel",
};
/* "stall p99" of stall_p99_ns: cells have their unit. */
function short_words(key)
{
	return named[key] || metric_names[key] || key.replace(/_bytes_per_sec$/, " throughput").replace(/_per_sec$/, " per second")
		.replace(/(.)_(ns|percent|seconds|bytes|count)\b/, "$1").replace(/[_.]+/g, " ").replace(/\b(au|cpus?|io|numa)\b/g, (s) => s.toUpperCase().replace(/S$/, "s"));
}
const long_words = (key) => key.replace(/_per_sec$/, " per second").replace(/_ns\b/, " time").replace(/[_.]+/g, " ");
/* Headings of these members. Short forms that are equal are replaced by long ones. */
function words_of(keys, own)
{
	const short = keys.map((k) => own && own[k] || short_words(k));

	return short.map((s, i) => short.indexOf(s) === short.lastIndexOf(s) ? s : long_words(keys[i]));
}
/* A row of a comparison: "read latency p99" of ops.read.lat_ns.p99. */
const figure_names = {
	"read.bw_bytes": "read throughput", "write.bw_bytes": "write throughput", "read.iops": "read IOPS", "write.iops": "write IOPS",
	"saves.seconds_mean": "mean time of a save", "saves.bytes_per_sec": "save throughput", "saves.stall_seconds": "stall for saves",
	"saves.slowest_rank_bytes_per_sec": "save throughput of the slowest rank", "restores.seconds_mean": "mean time of a restore",
	"restores.bytes_per_sec": "restore throughput", "restores.slowest_rank_bytes_per_sec": "restore throughput of the slowest rank",
	sample_ns: "time of a sample", step_ns: "time of a step",
};
function figure_words(path)
{
	const m = /^(.*?)(?:\.(p[0-9.]+|mean|min|max|stddev|N))?$/.exec(path);
	const name = figure_names[m[1]] || m[1].replace(/^ops\./, "").split(".").map((k) => k === "lat_ns" || k === "clat_ns" ? "latency" : short_words(k)).join(" ");

	return m[2] ? name + " " + (m[2] === "N" ? "count" : m[2]) : name;
}
