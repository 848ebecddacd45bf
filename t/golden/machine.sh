# SPDX-License-Identifier: Apache-2.0
# machine.sh - the made-up machine of machine.txt, for shells that run build/golden/mlgen.
# shellcheck shell=sh

# make_machine FOLDER TEXT: the machine as a tree; the files are cut out of
# machine.txt, which is TEXT.
make_machine()
{
	awk -v to="$1" '
	function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
	/^== / {
		if (file) close(file)
		file = to $2
		if ($3 == "->") { links = links file " " $4 "\n"; file = "" }
		else if ($2 ~ /\/$/) { folders = folders " " file; file = "" }
		else {
			system("mkdir -p " folder_of(file))
			printf "" >file
		}
		next
	}
	file { print >file }
	END {
		if (folders) system("mkdir -p" folders)
		n = split(links, link, "\n")
		for (i = 1; i < n; i++) {
			split(link[i], part, " ")
			system("mkdir -p " folder_of(part[1]) \
				"; ln -s " part[2] " " part[1])
		}
	}' "$2"
}

# enter_machine MACHINE HOME: what is started from here on runs on the tree MACHINE,
# where HOME is /golden, with the simulation's options as they usually are.
enter_machine()
{
	unset HOST_NAME LATER_S FREE_MIB INTERRUPT_AT_MS TERMINAL_COLUMNS \
		SLEEPS_LATE_NS STORAGE_BANDWIDTH STORAGE_CACHED STORAGE_READ_NS \
		STORAGE_WRITE_NS STORAGE_OPEN_NS STORAGE_FLUSH_NS
	GOLDEN_MACHINE=$1 GOLDEN_HOME=$2 MLGEN_JOBS=jobs
	HWLOC_SYNTHETIC='pack:2 numa:1 core:4 pu:1'
	export GOLDEN_MACHINE GOLDEN_HOME MLGEN_JOBS HWLOC_SYNTHETIC
}
