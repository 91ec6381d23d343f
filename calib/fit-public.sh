#!/bin/sh
# The profiles a100-x8-vidur and a800-x8-vidur again, from public tables: calib/fit-public.sh MOONCAKE DATA [DIRECTORY]
# DATA holds kernels/vidur_a100_*.csv.zst and kernels/aic_a100_vllm_*_attention.csv.zst. The same tables give the same
# bytes in DIRECTORY (default: beside this script, in profiles/).
set -eu
LC_ALL=C
export LC_ALL
mooncake=$1 tables=$2/kernels
here=$(cd "$(dirname "$0")" && pwd)
to=${3:-$here/profiles}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
MOONCAKE_PROFILE_DIR=$here/profiles
export MOONCAKE_PROFILE_DIR

# import NAME SOURCE SOFTWARE TABLE [OPTION...]: samples of a table, for the fit.
import()
{
	name=$1 source=$2 software=$3 table=$4
	shift 4
	"$mooncake" fit import auto "$tables/$table" --hardware a100-x8-analytic --device 'NVIDIA A100-SXM4-80GB' \
		--software "$software" --date 2024-05 --source "$source" "$@" -o "$work/$name.csv" 2>"$work/told" || {
		cat "$work/told" >&2
		return 1
	}
}

# All of one stack, the only public one with dense layers at every 8 to 32 rows and prefill after a cached prefix.
# Where it has no attention (4 query heads to a KV head, LLaMA-3 8B's) that of vLLM 0.14.0, without a prefix.
vidur='Vidur (Agrawal et al., MLSys 2024), microsoft/vidur data/profiling, in fp16: bf16 takes the same time'
aic='attention of 4 query heads to a KV head: ai-dynamo/aiconfigurator, vllm 0.14.0, prompts without a cached prefix'
stack='vLLM, FlashAttention and NCCL as profiled by Vidur; vllm 0.14.0'
for model in llama2-70b llama3-70b llama3-8b; do
	import mlp-$model "$vidur" "$stack" vidur_a100_${model}_mlp.csv.zst
done
import attention "$vidur" "$stack" vidur_a100_70b_tp2_attention.csv.zst
import all_reduce "$vidur" "$stack" vidur_a100_dgx_all_reduce.csv.zst
import send_recv "$vidur" "$stack" vidur_a100_dgx_send_recv.csv.zst
for heads in 4 8 16 32; do
	for phase in context generation; do
		import $phase-$heads "$aic" "$stack" aic_a100_vllm_${phase}_attention.csv.zst \
			--where num_heads=$heads --where num_key_value_heads=$((heads / 4)) --where head_dim=128
	done
done
fit() { "$mooncake" fit "$work"/*.csv --hardware "$work/$1.json" --output "$to/$1.json"; }
cp "$here/profiles/a100-x8-analytic.json" "$work/a100-x8-vidur.json"
fit a100-x8-vidur

# The A800 is the same chip with two thirds of the NVLink bandwidth: what a transfer takes beyond that of the fewest
# bytes takes half as long again. Nobody measured that; the profile says so.
sed -e 's/datasheet (peak, memory)/datasheet (peak, memory, NVLink: 400 GB\/s, half of it each way)/' \
	-e 's/^    "vram": /    "link_bandwidth": "200GB\/s",\n&/' \
	"$here/profiles/a800-x8-analytic.json" >"$work/a800-x8-vidur.json"
for op in all_reduce send_recv; do
	awk -F, -v OFS=, '
		/^# source/ { $0 = "# source: all_reduce and send_recv not measured on an A800: 1.5 times what they take on " \
			"an A100 beyond the time of the fewest bytes" }
		/^[a-z]+_[a-z]+,/ {
			if (!($10 in least))
				least[$10] = $13
			if ($13 > least[$10])
				$13 = sprintf("%.6g", least[$10] + 1.5 * ($13 - least[$10]))
		}
		{ print }' "$work/$op.csv" >"$work/scaled"
	mv "$work/scaled" "$work/$op.csv"
done
sed -i 's/^# device: .*/# device: NVIDIA A800-SXM4-80GB (times of an A100-SXM4-80GB, the same chip)/' "$work"/*.csv
fit a800-x8-vidur
