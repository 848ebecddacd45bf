/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - see placement.h. */
#include "run/placement.h"

#include <errno.h>

#include "base/mem.h"
#include "io/host.h"
#include "io/topology.h"
#include "job/job.h"

static void find_disk(struct placement *p, const struct placement_request *req,
		      struct mlgen_err *why)
{
	int node = -1;

	if (req->mount)
		node = topology_disk_node(req->root, req->mount, why);
	else
		mlgen_fail(why, -ENODATA, "ioengine=%s touches no file", req->job->engine->name);
	p->disk_node = node < 0 ? -1 : node;
}

/* Does numa=device ask for CPUs of p->disk_node? */
static bool follows_disk(struct placement *p, const struct job *job, const struct mlgen_err *why)
{
	if (job->numa != NUMA_DEVICE || !job_work(job)->has_accelerators)
		return false;
	if (!p->has_nodes)
		mem_replace(&p->unbound, "this host has one NUMA node, every CPU is near");
	else if (p->disk_node < 0)
		mem_replace(&p->unbound, why->text);
	return !p->unbound;
}

static int ask_topology(struct placement *p, const struct placement_request *req, bool disk,
			struct mlgen_err *err)
{
	const struct job *job = req->job;
	struct topology_wish wish = { .cpus = job->cpus_allowed,
				      .nodes = job->numa_cpu_nodes,
				      .disk_node = disk ? p->disk_node : -1 };
	struct topology *t = NULL;
	char *threads = NULL;

	if (disk)
		wish.disk = req->mount->device;
	int rc = topology_new(&t, req->allowed, err);
	if (rc == 0)
		rc = topology_plan(t, &wish, &threads, &p->loader_cpus, err);
	topology_free(t);
	/* numa=device leaves the accelerators' threads alone. */
	mem_replace(&p->rank_cpus, wish.nodes ? threads : job->cpus_allowed);
	mem_free(threads);
	return rc;
}

int placement_init(struct placement *p, const struct placement_request *req, struct mlgen_err *err)
{
	const struct job *job = req->job;
	struct mlgen_err why = { 0 };

	*p = (struct placement){ .has_nodes = topology_has_nodes(req->root) };
	find_disk(p, req, &why);
	bool disk = follows_disk(p, job, &why);
	if (job->cpus_allowed && !req->allowed) {
		int rc = host_set_cpus(job->cpus_allowed, false, err);

		if (rc < 0)
			return rc;
	}
	if (disk || job->numa_cpu_nodes)
		return ask_topology(p, req, disk, err);
	mem_replace(&p->rank_cpus, job->cpus_allowed);
	mem_replace(&p->loader_cpus, job->cpus_allowed);
	return 0;
}

void placement_fini(struct placement *p)
{
	mem_free(p->rank_cpus);
	mem_free(p->loader_cpus);
	mem_free(p->unbound);
	*p = (struct placement){ 0 };
}
