#!/bin/sh
# A file includes its own room and rooms before it, and only what its room may know.
. "$(dirname "$0")/tap.sh"

# layers DIR: print each include below DIR that breaks a rule.
layers()
{
	(
		cd "$1" || exit 1
		find src kernels calib -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) 2>/dev/null |
			sort | xargs awk "$rules"
	)
}

rules='
BEGIN {
	n = split("base stat conf des hw model trace kv net sched engine cluster fit plan transport live out cli",
		  order, " ")
	for (i = 1; i <= n; i++)
		rank[order[i]] = i
	# Rooms with a list of their own: those that programs with CUDA link, and the folders beside src.
	only["base"] = " base "
	only["conf"] = " base conf "
	only["hw"] = " base conf hw "
	only["transport"] = " base conf hw transport "
	only["kernels"] = " base kernels "
	only["calib"] = " base conf hw kernels transport calib "
	# What decides runs in virtual and in real time alike: no event queue, no simulated wire, no socket, no GPU.
	neutral["kv"] = neutral["model"] = neutral["sched"] = 1
}
function breach(why) { printf "%s:%d: %s\n", FILENAME, FNR, why }
function local_include(room, name,    to, file) {
	if (name == "config.h")
		return
	if (!index(name, "/")) {
		breach("\"" name "\" has no room; expected \"room/file.h\"")
		return
	}
	to = substr(name, 1, index(name, "/") - 1)
	file = (to == "kernels" || to == "calib") ? name : "src/" name
	if ((getline line < file) < 0)
		breach("\"" name "\" does not exist")
	close(file)
	if (to == room)
		return
	if (room in only) {
		if (!index(only[room], " " to " "))
			breach(room " includes " to "; it may include only" only[room])
	} else if (!(to in rank) && !(room == "live" && to == "kernels"))
		breach(room " includes " to ", which is no room of src")
	else if (!(room in rank))
		breach(room " is no known room")
	else if (to in rank && rank[to] > rank[room])
		breach(room " includes " to ", a later room")
	if (room in neutral && (to == "net" || (to == "des" && name != "des/stream.h")))
		breach(room " decides for both roots; it may not know " name)
}
function system_include(room, name) {
	if (name ~ /^gsl\// && (room in only || room == "live"))
		breach(room " may be linked with CUDA; it may not use GSL (" name ")")
	if (room in neutral && name ~ /^(sys\/socket|netinet|arpa|sys\/epoll|poll\.h|pthread|cuda|cublas|infiniband)/)
		breach(room " decides for both roots; it may not know <" name ">")
	if (name ~ /^(cuda|cublas)/ && room != "kernels" && room != "calib" && room != "live")
		breach(room " may not use CUDA (" name ")")
}
/^[ \t]*#[ \t]*include/ {
	split(FILENAME, path, "/")
	room = path[1] == "src" ? path[2] : path[1]
	name = $0
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
	kind = substr(name, 1, 1)
	name = substr(name, 2)
	sub(/[">].*$/, "", name)
	if (kind == "\"")
		local_include(room, name)
	else
		system_include(room, name)
}'

# include FROM NAME: a made-up tree in which the file FROM includes NAME.
include()
{
	rm -rf "$tap_dir/tree"
	mkdir -p "$tap_dir/tree/$(dirname "$1")" "$tap_dir/tree/src/base" "$tap_dir/tree/src/sched" \
		"$tap_dir/tree/src/des"
	: >"$tap_dir/tree/src/base/err.h" >"$tap_dir/tree/src/sched/view.h" >"$tap_dir/tree/src/des/loop.h"
	: >"$tap_dir/tree/src/des/loop.h"
	: >"$tap_dir/tree/src/sched/view.h"
	printf '#include %s\n' "$2" >"$tap_dir/tree/$1"
	layers "$tap_dir/tree"
}

silent 'an earlier room is fine' include src/engine/a.c '"sched/view.h"'
speaks 'a later room is found' 'later room' include src/des/a.c '"sched/view.h"'
speaks 'a file without room is found' 'has no room' include src/des/a.c '"loop.h"'
speaks 'a file that does not exist is found' 'does not exist' include src/des/a.c '"base/nothing.h"'
speaks 'an event queue in the Conductor is found' 'both roots' include src/sched/a.c '"des/loop.h"'
speaks 'a socket in the Conductor is found' 'both roots' include src/sched/a.c '<sys/socket.h>'
speaks 'GSL beside CUDA is found' 'GSL' include kernels/a.c '<gsl/gsl_rng.h>'
speaks 'kernels that know the simulator are found' 'may include only' include kernels/a.c '"sched/view.h"'
silent 'each file includes its own room and rooms before it' layers "$MC_SRCDIR"
tap_done
