#!/bin/sh
# The profile a100-x8-vidur again, from public tables: calib/fit-public.sh MOONCAKE DATA [DIRECTORY]
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
"$mooncake" fit "$work"/*.csv --hardware a100-x8-analytic --output "$to/a100-x8-vidur.json"
