#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 121-completion.sh - bash and zsh complete options, their values, engines and jobs, as the program has them.

. "$(dirname "$0")/../tap.sh"

unset MLGEN_JOBS
completion=$BUILT/build/completion
[ -f "$completion/mlgen.bash" ] || skip_all "run make completion first"
PATH=$TOP:$PATH
mkdir empty jobs
cd empty || exit 1
cat >../jobs/mine.job <<'END'
[mine]
[accelerator=fast]
compute_time=1ms
[accelerator=slow]
compute_time=2ms
END

# ---- bash: as readline calls it, with words broken at = and :
cat >../ask.bash <<'END'
. "$1"
COMP_LINE=$2
COMP_POINT=${#2}
rest=$2
while [[ $rest ]]; do
	[[ $rest =~ ^[[:space:]]*([=:]+|[^[:space:]=:]+) ]] || break
	COMP_WORDS+=("${BASH_REMATCH[1]}")
	rest=${rest#"${BASH_REMATCH[0]}"}
done
[[ $2 != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
program=${2%% *}
_$program "$program"
printf '%s\n' "${COMPREPLY[@]}"
END
bash_says()
{
	bash --norc ../ask.bash "$completion/${1%% *}.bash" "$1" 2>&1 | paste -sd' ' -
}

# ---- zsh: a terminal of its own, in which the Tab key is pressed
cat >../ask.zsh <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=(${(q)1} \$fpath); PS1=; stty -echo; . ../capture.zsh"
zpty -r shell answer '*@READY@'
zpty -w -n shell "$2"$'\t'
zpty -r shell answer '*@DONE@'
print -r -- "$answer" | tr '\r' '\n' | sed -n 's/.*@HIT@\(.*\)@.*/\1/p'
zpty -d shell
END
# Only what it takes is read: all that zsh completes would take a second.
cat >../capture.zsh <<'END'
everything=($fpath)
fpath=(${fpath:#*/Completion/(Linux|X|Debian|Unix|Solaris|BSD)})
autoload -Uz compinit _files _path_files _list_files
compinit -D -u
fpath=($everything)
zstyle ':completion:*' completer _complete
bindkey '^I' complete-word
compadd() {
	local -a asked hits
	local suffix hit
	asked=("${@[1,(i)(-|--)]}")
	(( ! asked[(Ie)-S] )) || suffix=$asked[asked[(Ie)-S]+1]
	if (( ! asked[(I)-[OAD]] )); then
		builtin compadd -A hits "$@"
		for hit in $hits; do
			print -r -- "@HIT@$hit$suffix@"
		done
	fi
	builtin compadd "$@"
}
comppostfuncs=(zsh_says_done)
zsh_says_done() { print -n '@DONE@' }
print @READY@
END
zsh_says()
{
	timeout 20 zsh -f ../ask.zsh "$completion" "$1" 2>&1 </dev/null | sort -u | paste -sd' ' -
}
# The rows of the tables, and of them only those that the command line knows.
options()
{
	"$MLGEN" --cmdhelp=all | sed -n 's/^\([a-z][a-z_]*\)=.*/\1/p' | sort
}

# in_both SHELL: what both have to say alike; zsh says it of the value alone.
in_both()
{
	says=$1_says
	is "$1 completes an option" "$($says 'mlgen --batch')" "--batch_size="
	is "$1 completes one without a value" "$($says 'mlgen --parse')" "--parse-only"
	is "$1 completes what is begun of choices" \
		"$($says 'mlgen --rw=randr')" "randread randrw"
	is "$1 completes engines" "$($says 'mlgen --ioengine=')" "$engines"
	is "$1 completes options of one job" "$($says 'mlgen x.job --x.batch_s')" \
		"--x.batch_size="
	is "$1 takes - and _ for the same" "$($says 'mlgen --x.drop-caches=')" \
		"epoch no run"
	is "$1 completes names of shipped jobs" "$($says 'mlgen unet')" unet3d.job
	is "$1 completes what sections of a job are for" \
		"$($says 'mlgen ../jobs/mine.job --accelerator=')" "fast slow"
	is "$1 completes files" "$($says 'mlgen --json=../jobs/m')" "$2mine.job"
}

engines=$("$MLGEN" --enghelp | awk '/^[a-z]/ { print $1 }' | sort | paste -sd' ' -)
if command -v bash >/dev/null; then
	in_both bash ../jobs/
	is "bash has every option of a job" \
		"$("$MLGEN" --cmdhelp=all | sed -n 's/^\([a-z][a-z_0-9]*\)=.*/--\1=/p' |
			sort >options
		bash_says 'mlgen --' | tr ' ' '\n' | sort | comm -13 - options)" ""
	is "and of the program" "$(bash_says 'mlgen --find')" "--find-max= --find-min="
	is "after -- of a recording bash completes commands" \
		"$(bash_says 'mltrace record -o t.mlt -- mkfif')" mkfifo
	is "and their files" "$(bash_says 'mltrace record -o t.mlt -- cat ../jobs/m')" \
		../jobs/mine.job
	is "bash has the commands of mltrace" "$(bash_says 'mltrace d')" "describe distil"
	is "and the options of each" "$(bash_says 'mltrace record --b')" "--backend= --buffer="
	is "with their values" "$(bash_says 'mltrace import --format=d')" \
		"darshan dftracer dio"
is "elsewhere jobs" "$(bash_says 'mlgen -- unet')" unet3d.job
is "bash goes on behind a colon" "$(bash_says 'mlgen --shuffle=buf')" \
		"buffer:"
	is "bash completes jobs of MLGEN_JOBS" \
		"$(MLGEN_JOBS=../jobs bash_says 'mlgen mi')" mine.job
else
	skip "bash completes" "bash is not here"
fi
if command -v zsh >/dev/null && zsh -f -c \
	'zmodload zsh/zpty && zpty shell true' 2>/dev/null; then
	in_both zsh ''
else
	skip "zsh completes" "zsh, or a pseudo terminal for it, is not here"
fi
done_testing
