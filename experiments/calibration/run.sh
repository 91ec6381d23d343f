#!/bin/sh
# Composed predictions beside end-to-end measurements, and operators beside points that their fit did not see. README has
# what was decided before, and the answers. The tables on one question are one file in tables/.
#
#     MOONCAKE_DATA=DIR experiments/calibration/run.sh [--small] [--mooncake PATH] [TABLE...]
#
# DIR/kernels holds the published tables. --small keeps to what was chosen, and what it is told apart from.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
data=${MOONCAKE_DATA:?"set MOONCAKE_DATA to a folder with the published tables of operators in kernels/"}/kernels
[ -d "$data" ] || { echo "run.sh: $data is no folder; MOONCAKE_DATA should have the published tables in kernels/" >&2; exit 2; }
all=$(cd "$here/tables" && ls | sed 's/\.sh$//')
tables=${tables:-$all}
profiles=$here/../../calib/profiles
[ -d "$profiles" ] || profiles=$here/../../profiles # installed
MOONCAKE_PROFILE_DIR=${MOONCAKE_PROFILE_DIR:-$profiles}
export MOONCAKE_PROFILE_DIR

# import NAME TABLE ARGUMENTS...: samples of a published table in $work/NAME.csv.
import()
{
	name=$1 from=$2
	shift 2
	"$mooncake" fit import auto "$data/$from" -o "$work/$name.csv" "$@" >"$work/told" 2>&1 ||
		fail "import $from: $(cat "$work/told")"
}

# only NAME CONDITION: of those samples the ones that an awk condition on op, n, k, heads (per KV head: group) keeps. What
# is asked about needs no more: other curves are too far to be used.
only()
{
	awk -F, '/^#|^op,/ { print; next } { op = $1; n = $5; k = $6; heads = $7; group = $8 ? $7 / $8 : 0; dim = $9 }
		'"$2" "$work/$1.csv" >"$work/kept"
	mv "$work/kept" "$work/$1.csv"
}

# fit NAME GPU SAMPLES...: the profile $work/NAME.json, and what fit says of it in NAME.fit. GPU: a100 or h100.
fit()
{
	name=$1 gpu=$2
	shift 2
	"$mooncake" fit "$@" --hardware "$gpu-x8-analytic" -o "$work/$name.json" >"$work/$name.fit" 2>&1 ||
		fail "fit $name: $(cat "$work/$name.fit")"
}

# compute GPU STACK: matrix products and attention of an engine in aiconfigurator's tables, in $work/compute-GPU-STACK.csv
# (products) and $work/prefill-... and $work/decode-...: the shapes of LLaMA (8 query heads to a KV head) and OPT (1).
compute()
{
	[ ! -e "$work/decode-$1-$2.csv" ] || return 0
	import "compute-$1-$2" "aic_$1_$2_gemm.csv.zst" --hardware "$1-x8-analytic"
	only "compute-$1-$2" 'n >= 1024 && k >= 1024'
	import "prefill-$1-$2" "aic_$1_$2_context_attention.csv.zst" --hardware "$1-x8-analytic" --where head_dim=128
	only "prefill-$1-$2" 'group == 8 || group == 1'
	import "decode-$1-$2" "aic_$1_$2_generation_attention.csv.zst" --hardware "$1-x8-analytic" --where head_dim=128
	only "decode-$1-$2" 'group == 8 || group == 1'
}

# reduce GPU SOURCE: all-reduces in $work/reduce-GPU-SOURCE.csv, by NCCL or an engine's own kernel.
reduce()
{
	[ ! -e "$work/reduce-$1-$2.csv" ] || return 0
	case $2 in
	vidur) import "reduce-$1-$2" "vidur_$1_dgx_all_reduce.csv.zst" --hardware "$1-x8-analytic" ;;
	nccl) import "reduce-$1-$2" "aic_$1_nccl.csv" --hardware "$1-x8-analytic" --where op_name=all_reduce ;;
	vllm-*) own "$1" "$2" vllm "vLLM_custom_${2#*-}" ;;
	sglang-*) own "$1" "$2" sglang "SGLang_CustomAllReduce_${2#*-}" ;;
	trtllm) own "$1" "$2" trtllm TRTLLM ;;
	esac
}

# own GPU SOURCE ENGINE KERNEL
own() { import "reduce-$1-$2" "aic_$1_$3_custom_allreduce.csv" --hardware "$1-x8-analytic" --where kernel_source="$4"; }

# slower SAMPLES: on standard output, with the part of a collective beyond that of the fewest bytes 1.5 times as long: an
# A800's, by calib/fit-public.sh's rule.
slower()
{
	awk -F, -v OFS=, '/^op,/ { for (s = 1; $s != "seconds"; s++); }
			/^[a-z]+_[a-z]+,/ {
			if (!($10 in least))
				least[$10] = $s
			if ($s > least[$10])
				$s = sprintf("%.6g", least[$10] + 1.5 * ($s - least[$10]))
		}
		{ print }' "$1"
}

# committed GPU: stacks of which there is a profile with operators, GPU-x8-STACK.
committed()
{
	for f in "$MOONCAKE_PROFILE_DIR/$1"-x8-*.json; do
		! grep -q '"operators":' "$f" || basename "${f#*-x8-}" .json
	done
}

# stack GPU STACK: says the profile of an engine's operators: the committed one, or one that is made of aiconfigurator's
# tables with the collectives of NCCL.
stack()
{
	if committed "$1" | grep -qx "$2"; then
		echo "$1-x8-$2"
		return
	fi
	if [ ! -e "$work/stack-$1-$2.json" ]; then
		compute "$1" "$2"
		reduce "$1" nccl
		fit "stack-$1-$2" "$1" "$work/compute-$1-$2.csv" "$work/prefill-$1-$2.csv" "$work/decode-$1-$2.csv" \
			"$work/reduce-$1-nccl.csv"
	fi
	echo "$work/stack-$1-$2.json"
}

# predict NAME ARGUMENTS...: $work/NAME.parts, lines of prediction, part, calls, calls outside of what was measured,
# seconds, and seconds measured, if any; "total" ends each.
predict()
{
	into=$1
	shift
	"$mooncake" predict "$@" --format csv >"$work/$into.csv" 2>"$work/told" || fail "predict $*: $(cat "$work/told")"
	awk -F, -v OFS='\t' 'NR > 1 { print $1, $2, $4, $5, $7, $8 }' "$work/$into.csv" >"$work/$into.parts"
}

# errors: of lines "group error" the number, median, 95th percentile (nearest rank) of their size, and the worst, a group
# each in the order they came in.
errors()
{
	awk -F'\t' '{ size = $2 < 0 ? -$2 : $2; print $1 "\t" size "\t" $2 }' | sort -t'	' -k1,1 -k2,2g |
		awk -F'\t' -v OFS='\t' '
			function rank(p, r) { r = int(p * n); r = r < p * n ? r + 1 : r; return size[r < 1 ? 1 : r] }
			function middle() { return n % 2 ? size[(n + 1) / 2] : (size[n / 2] + size[n / 2 + 1]) / 2 }
			function say() { if (n) printf "%s\t%d\t%.1f\t%.1f\t%+.1f\n", group, n, middle(), rank(0.95), signed }
			$1 != group { say(); group = $1; n = 0 }
			{ size[++n] = $2; signed = $3 }
			END { say() }'
}

for t in $tables; do
	[ -e "$here/tables/$t.sh" ] || { echo "$0: $t: expected some of" $all >&2 && exit 2; }
done
for t in $tables; do
	. "$here/tables/$t.sh"
done
finish
