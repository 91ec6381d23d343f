#!/bin/sh
# Can the tests of the kernels fail? Each line of `faults` is one mistake in one kernel: an edit by sed, which must change the
# file; the kernel is compiled for the shim, linked with the test that should see it, and that test must fail. Two at a time.
. "$MC_SRCDIR/tests/scripts/tap.sh"
. "$MC_BUILDDIR/tests/shim/faults.env"

# FILE TEST EDIT # what is wrong then
faults()
{
	cat <<-'END'
	activation.cu elementwise s/__expf(-g/__expf(g/ # the sigmoid's sign
	all_reduce.cu all_reduce s/meet(a, a.epoch + 1);// # ranks go on before all have the sums
	all_reduce.cu all_reduce /two_shot/,/^}/s/meet(a, a.epoch);// # ranks start before all have their numbers
	all_reduce.cu all_reduce s/src == a.rank . own/src == 0 ? own/ # one rank's numbers twice
	attention_decode.cu attention s/ < valid / <= valid / # one token too many is seen
	attention_decode.cu attention /feed_valid(f, i));$/s/f->at + kv->v_offset/f->at/ # K instead of V
	attention_decode.cu attention s/s->acc\[n\]\[2 \* h\] \*= shrink;// # sums are not brought to the new maximum
	attention_decode.cu attention s/acc += by \* /acc += / # the parts of a block are not weighed
	attention_decode.cu attention s/float by = mc_exp2(w.x - max)/float by = 1/ # nor are the splits
	attention_decode.cu attention s/(head \* j.group) \* D/head * D/ # another head's queries
	attention_decode.cu attention /mc_cp_async_wait<UNDER_WAY>/d # copies are not waited for
	attention_decode.cu attention /put_state<.*weight.warp/,/put_block/s/__syncthreads();// # nor are the other warps
	attention_prefill.cu attention_prefill s/8 \* n > seen)/8 * n > seen + 1)/ # the next token is seen
	attention_prefill.cu attention_prefill s/int last = p.context + /int last = / # the prefix is not counted
	attention_prefill.cu attention_prefill s/st.o\[m\]\[n\]\[2 \* h\] \*= shrink;// # sums are not brought to the new maximum
	attention_prefill.cu attention_prefill s/(int)blockIdx.y \* a->group + row - token/(int)blockIdx.y + row - token/ # another head's queries
	attention_prefill.cu attention_prefill s/mc_opaque((int)blockIdx.y)/0/ # another head's keys
	attention_prefill.cu attention_prefill s/mc_cp_async_wait<1>();// # copies are not waited for
	attention_prefill.cu attention_prefill /mc_cp_async_wait<1>/{n;d;} # other warps' copies are not waited for
	embed.cu elementwise s/id < a.table_rows/id <= a.table_rows/ # one row too many is there
	kv_pages.cu kv s/t \* c.per_head +/(t ^ 1) * c.per_head +/ # neighbours in a block are exchanged
	kv_pages.cu kv s/(i - c.per_part)/i/ # V is taken from behind its row
	norm.cu norm s/ + a.eps// # eps is left out
	norm.cu norm s/__syncthreads();// # warps' sums are not waited for
	rope.cu rope s/p \* c.j. - q \* s.j./p * c[j] + q * s[j]/ # turned the other way, in part
	sample.cu sample s/b.token < a.token/b.token > a.token/ # the highest token of equals
	sample.cu sample s/__syncthreads();$// # the winners of warps are not waited for
	tile.cuh attention_prefill s/table\[block\]/table[block ? block - 1 : 0]/ # another block of the table
	tile.cuh attention_prefill s/row < valid/row <= valid/ # a token behind the sequence is read
	END
}

# fault NUMBER FILE TEST EDIT WHAT: writes the verdict to $tap_dir/NUMBER.
fault()
{
	dir=$tap_dir/$1.d
	mkdir -p "$dir/kernels/cuda"
	name=${2%.*}
	[ "$name" != tile ] || name=attention_prefill
	sed "$4" "$MC_SRCDIR/kernels/cuda/$2" >"$dir/kernels/cuda/$2"
	if cmp -s "$MC_SRCDIR/kernels/cuda/$2" "$dir/kernels/cuda/$2"; then
		echo "the edit changes nothing: $4" >"$dir/why"
	elif ! (cd "$MC_BUILDDIR" && $SHIM_CXX -O1 -w -I"$dir" $SHIM_CXXFLAGS -c -o "$dir/kernel.o" "$MC_SRCDIR/tests/shim/cu_$name.cc" &&
		$SHIM_CC -o "$dir/test" -Wl,--wrap=_ck_assert_failed "tests/kernels/test_$3.o" "$dir/kernel.o" "$tap_dir/fail_fast.o" \
			$SHIM_LIBS) >"$dir/said" 2>&1; then
		echo "it doesn't compile: $(head -n 5 "$dir/said")" >"$dir/why"
	else
		(CK_FORK=no timeout 100 "$dir/test") >"$dir/said" 2>&1
		case $? in
		0) echo "tests/kernels/test_$3 doesn't see it: $4" >"$dir/why" ;;
		124) echo "tests/kernels/test_$3 doesn't end: $4" >"$dir/why" ;;
		esac
	fi
	rm -f "$dir/test" "$dir/kernel.o"
}

if [ -n "$SHIM_SAN" ]; then
	skip 'mistakes in kernels are seen' 'instrumented build'
	tap_done
	exit
fi
$SHIM_CC -c -o "$tap_dir/fail_fast.o" "$MC_SRCDIR/tests/shim/fail_fast.c" || exit 99
faults >"$tap_dir/faults"
i=0
while read -r file test edit; do
	i=$((i + 1))
	fault $i "$file" "$test" "${edit% # *}" &
	[ $((i % 2)) -eq 1 ] || wait
done <"$tap_dir/faults"
wait
i=0
while read -r file test edit; do
	i=$((i + 1))
	if [ -e "$tap_dir/$i.d/why" ]; then
		not_ok "$file: ${edit##* # }" "$(cat "$tap_dir/$i.d/why")"
	else
		ok "$file: ${edit##* # }"
	fi
done <"$tap_dir/faults"
tap_done
