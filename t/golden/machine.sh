# SPDX-License-Identifier: Apache-2.0
# machine.sh - the made-up machine of machine.txt, for shells that run build/golden/mlgen.
# shellcheck shell=sh

# make_machine FOLDER TEXT: make the machine as a tree; its files are cut out of
# TEXT, which is machine.txt.
make_machine()
{
	# shellcheck disable=SC2046 # a word for each folder
	mkdir -p $(awk -v to="$1" '
	/^== / {
		path = to $2
		sub(/\/[^\/]*$/, "", path)
		if (!seen[path]++) print path
	}' "$2")
	awk -v to="$1" '
	/^== / {
		if (file) close(file)
		file = to $2
		if ($3 == "->") { links = links "ln -s " $4 " " file "\n"; file = "" }
		else if ($2 ~ /\/$/) file = ""
		else printf "" >file
		next
	}
	file { print >file }
	END { printf "%s", links }' "$2" | sh
}

# enter_machine MACHINE HOME: what is started from here on runs on the tree MACHINE,
# where HOME is /golden, with the simulation's options as they usually are.
enter_machine()
{
	unset HOST_NAME LATER_S FREE_MIB INTERRUPT_AT_MS TERMINAL_COLUMNS \
		SLEEPS_LATE_NS STORAGE_BANDWIDTH STORAGE_CACHED STORAGE_READ_NS \
		STORAGE_WRITE_NS STORAGE_OPEN_NS STORAGE_FLUSH_NS \
		STORAGE_WARM_AFTER_MS
	GOLDEN_MACHINE=$1 GOLDEN_HOME=$2 MLGEN_JOBS=jobs
	HWLOC_SYNTHETIC='pack:2 numa:1 core:4 pu:1'
	export GOLDEN_MACHINE GOLDEN_HOME MLGEN_JOBS HWLOC_SYNTHETIC
}
