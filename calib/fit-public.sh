#!/bin/sh
# The profiles a100-x8-vidur, a800-x8-vidur and h100-x8-vllm again, from public tables:
# calib/fit-public.sh MOONCAKE DATA [DIRECTORY]
# DATA holds kernels/vidur_*.csv.zst and kernels/aic_*_vllm_*. The same tables give the same bytes in DIRECTORY (default:
# beside this script, in profiles/).
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

# import NAME SOURCE SOFTWARE TABLE [OPTION...]: samples of a table on $node, for the fit.
node=a100-x8-analytic device='NVIDIA A100-SXM4-80GB' date=2024-05
import()
{
	name=$1 source=$2 software=$3 table=$4
	shift 4
	"$mooncake" fit import auto "$tables/$table" --hardware $node --device "$device" \
		--software "$software" --date $date --source "$source" "$@" -o "$work/$name.csv" 2>"$work/told" || {
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
		/^op,/ { for (s = 1; $s != "seconds"; s++); }
		/^[a-z]+_[a-z]+,/ {
			if (!($10 in least))
				least[$10] = $s
			if ($s > least[$10])
				$s = sprintf("%.6g", least[$10] + 1.5 * ($s - least[$10]))
		}
		{ print }' "$work/$op.csv" >"$work/scaled"
	mv "$work/scaled" "$work/$op.csv"
done
sed -i 's/^# device: .*/# device: NVIDIA A800-SXM4-80GB (times of an A100-SXM4-80GB, the same chip)/' "$work"/*.csv
fit a800-x8-vidur

# H100: matrix products, attention and all-reduce of one stack. Of 440 sizes of products those that models of 7B to
# 405B parameters have at 1 to 8 GPUs or that lie around them; LLaMA-70B's first one of the FFN at 8 GPUs and its second
# at 4 and 8 are among them. Rows double from 1,024 on, where the last wave of blocks is more or less full: points left
# out are 18 % off at the 95th percentile, and a finer grid nobody published. The other table of whole PyTorch operators
# (LLMServingSim) is not used: norms at a seventh of the memory's bandwidth are no kernel that serves, and decode
# attention is faster than the hardware.
mv "$work" "$work.a100"
mkdir "$work"
trap 'rm -rf "$work" "$work.a100"' EXIT
node=h100-x8-analytic device='NVIDIA H100-SXM5-80GB' date=2026-01
aic='ai-dynamo/aiconfigurator, vllm 0.14.0: products of 21 numbers of rows, prompts without a cached prefix (one costs '
aic=${aic}'as much as the work beyond it says), all-reduce in CUDA graphs; dated by that release, the tables have no date'
stack='vllm 0.14.0'
sed -e 's/datasheet (peak without sparsity, memory)/datasheet (peak without sparsity, memory, NVLink: 900 GB\/s, half of it each way)/' \
	-e 's/^    "vram": /    "link_bandwidth": "450GB\/s",\n&/' \
	"$here/profiles/h100-x8-analytic.json" >"$work/h100-x8-vllm.json"
node=$work/h100-x8-vllm.json
import gemm "$aic" "$stack" aic_h100_vllm_gemm.csv.zst
awk -F, '
	BEGIN { split("1024 2048 3584 4096 5120 7168 8192 12288 16384 65536", list, " "); for (i in list) size[list[i]] }
	!/^gemm,/ || ($5 in size && $6 in size)' "$work/gemm.csv" >"$work/some"
mv "$work/some" "$work/gemm.csv"
for heads in 8/1 16/2 32/4 64/8 4/1 8/2 16/4 32/8 8/8 40/8; do
	for phase in context generation; do
		import $phase-${heads%/*}-${heads#*/} "$aic" "$stack" aic_h100_vllm_${phase}_attention.csv.zst \
			--where num_heads=${heads%/*} --where num_key_value_heads=${heads#*/} --where head_dim=128
	done
done
import all_reduce "$aic" "$stack" aic_h100_vllm_custom_allreduce.csv --where kernel_source=vLLM_custom_graph
import send_recv 'send_recv: Vidur, microsoft/vidur data/profiling' "$stack" vidur_h100_dgx_send_recv.csv.zst

# Nobody measured what only moves bytes in such a stack on an H100: an A100's times, of which what they take beyond
# those of the fewest rows shrinks with the memory's bandwidth (2,039 to 3,350 GB/s). The profile says so.
for model in llama2-70b llama3-70b llama3-8b; do
	awk -F, -v OFS=, '
		/^# source/ { $0 = "# source: norm, rope, swiglu and embed not measured on an H100: what they take on an A100 " \
			"(Vidur) at the fewest rows, and 0.61 of what they take there beyond it" }
		/^# device/ { $0 = "# device: NVIDIA H100-SXM5-80GB" }
		/^# software/ { $0 = "# software: vllm 0.14.0" }
		/^op,/ { for (s = 1; $s != "seconds"; s++); }
		/^gemm,/ { next }
		/^[a-z]+,/ && $1 != "op" {
			key = $1 " " $5 " " $7
			if (!(key in least))
				least[key] = $s
			if ($s > least[key])
				$s = sprintf("%.6g", least[key] + 2039 / 3350 * ($s - least[key]))
		}
		{ print }' "$work.a100/mlp-$model.csv" >"$work/moves-$model.csv"
done
fit h100-x8-vllm
