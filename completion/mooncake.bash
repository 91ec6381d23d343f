# bash completion for mooncake(1)                                                          -*- shell-script -*-

# Names in `mooncake list WHAT`: entries are indented below a heading; a profile's name is a heading of its own.
_mooncake_names()
{
	"$1" list "$2" 2>/dev/null | awk -v profiles="$2" '
		profiles == "profiles" ? /^[^ ]/ : /^  / { print $1 }'
}

# Long options, from the help of a command.
_mooncake_options()
{
	echo --help
	"$1" "$2" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u
}

# Keys of a scenario, from the first column of `mooncake help config`.
_mooncake_keys()
{
	"$1" help config 2>/dev/null | awk '$1 ~ /^[a-z_]+(\.[a-z0-9_]+)*$/ && $1 != "key" { print $1 }'
}

# Metrics, as `mooncake help metrics` calls them.
_mooncake_metrics()
{
	"$1" help metrics 2>/dev/null | awk '/^[a-z_]/ && $1 ~ /^[a-z_]+(\.[a-z0-9_]+)*$/ { print $1 }'
}

# The values that a key may have, where they are names: its help ends with them.
_mooncake_values()
{
	case $2 in
	trace.format) _mooncake_names "$1" formats ;;
	hardware) _mooncake_names "$1" profiles ;;
	model) _mooncake_names "$1" models ;;
	*)
		"$1" help "$2" 2>/dev/null | awk -v key="$2" '
			$1 == key && $2 == "bool" { print "true false" }
			$1 == key && $2 == "name" { n = split($0, part, ": "); gsub(",", "", part[n]); print part[n] }'
		;;
	esac
}

_mooncake()
{
	local cur prev words cword key
	if declare -F _init_completion >/dev/null; then
		_init_completion -n = || return
	else
		cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	fi
	COMPREPLY=()
	local program=${words[0]} commands='run compare capacity predict trace fit calib list config help'

	if ((cword == 1)); then
		COMPREPLY=($(compgen -W "$commands --help --version" -- "$cur"))
		return
	fi
	case $prev in
	-s | --set)
		if [[ $cur == *=* ]]; then
			key=${cur%%=*}
			COMPREPLY=($(compgen -P "$key=" -W "$(_mooncake_values "$program" "$key")" -- "${cur#*=}"))
		else
			COMPREPLY=($(compgen -S = -W "$(_mooncake_keys "$program")" -- "$cur"))
			compopt -o nospace
		fi
		return
		;;
	-a | --across)
		COMPREPLY=($(compgen -W "$(_mooncake_keys "$program")" -- "$cur"))
		return
		;;
	-H | --hardware)
		COMPREPLY=($(compgen -f -W "$(_mooncake_names "$program" profiles)" -- "$cur"))
		return
		;;
	--model)
		COMPREPLY=($(compgen -f -W "$(_mooncake_names "$program" models)" -- "$cur"))
		return
		;;
	-m | --metric)
		COMPREPLY=($(compgen -W "$(_mooncake_metrics "$program")" -- "$cur"))
		return
		;;
	-f | --format)
		COMPREPLY=($(compgen -W 'text json csv' -- "$cur"))
		return
		;;
	-e | --evict) # names of a list
		key=
		[[ $cur == *,* ]] && key=${cur%,*},
		COMPREPLY=($(compgen -P "$key" -W "all $(_mooncake_names "$program" evictors)" -- "${cur##*,}"))
		return
		;;
	--out-dir)
		COMPREPLY=($(compgen -d -- "$cur"))
		return
		;;
	--seed | --seeds | --keep | --rate | --precision | --explain | --capacities | --limit | --max-bad)
		return
		;;
	esac
	if [[ ${words[1]} == calib && $cword -gt 1 ]]; then
		_mooncake_calib_words "$program calib" "${words[2]}" $((cword - 1)) "$cur" "$prev"
		return
	fi
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(_mooncake_options "$program" "${words[1]}")" -- "$cur"))
		return
	fi
	case ${words[1]} in
	list) COMPREPLY=($(compgen -W 'policies evictors formats profiles models sinks' -- "$cur")) ;;
	help) COMPREPLY=($(compgen -W "$commands config formats metrics units" -- "$cur")) ;;
	trace)
		if ((cword == 2)); then
			COMPREPLY=($(compgen -W 'stat head gen convert' -- "$cur"))
			return
		fi
		COMPREPLY=($(compgen -f -- "$cur"))
		compopt -o filenames
		;;
	config)
		if ((cword == 2)); then
			COMPREPLY=($(compgen -W 'show check' -- "$cur"))
			return
		fi
		COMPREPLY=($(compgen -f -- "$cur"))
		compopt -o filenames
		;;
	*)
		COMPREPLY=($(compgen -f -- "$cur"))
		compopt -o filenames
		;;
	esac
} &&
	complete -F _mooncake mooncake

# mooncake-calib(1): its commands and their options from its own help; `mooncake calib` is the same.
_mooncake_calib()
{
	COMPREPLY=()
	_mooncake_calib_words "${COMP_WORDS[0]}" "${COMP_WORDS[1]}" "$COMP_CWORD" "${COMP_WORDS[COMP_CWORD]}" \
		"${COMP_WORDS[COMP_CWORD - 1]}"
} &&
	complete -F _mooncake_calib mooncake-calib

# Program, command, which word, the word and the one before it.
_mooncake_calib_words()
{
	local cur=$4
	if (($3 == 1)); then
		COMPREPLY=($(compgen -W "$($1 --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p') --help" -- "$cur"))
	elif [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "--help $($1 "$2" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u)" -- "$cur"))
	elif [[ $5 != -[npbBctTLdSr] ]]; then
		COMPREPLY=($(compgen -f -- "$cur"))
		compopt -o filenames
	fi
}
