#!/bin/sh
# mooncake fit --report: pages of profiles: what is in them, whole tags, hostile words escaped, the same bytes twice.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"
src=$(cd "$MC_SRCDIR" && pwd)
profiles=$src/calib/profiles
page=$tap_dir/page.html

# unbalanced FILE: tags that are closed wrongly or never, and what may not be in a page that opens without a network.
unbalanced()
{
	tr '\n' ' ' <"$1" | sed 's/<style>[^<]*<\/style>//; s/</\n</g' | awk '
		/^<!DOCTYPE html>/ || /^<meta / || !/^</ || /^<[a-z][^>]*\/>/ { next }
		{
			tag = $0
			sub(/^<\/?/, "", tag)
			sub(/[ >].*/, "", tag)
		}
		!/^<[^<>]*>/ { print "not a tag: " $0 }
		/^<\// {
			if (n < 1 || open[n] != tag)
				print "closed: " tag ", open: " open[n]
			n--
			next
		}
		{ open[++n] = tag }
		END { if (n) print n " not closed, the last: " open[n] }'
	grep -niE '<script|<link|<img|<iframe|https?:|url\(|@import|javascript:|<[a-z][^<>]* on[a-z]+=|nan|inf[" ]' "$1"
	:
}
# outline FILE: titles, headings and charts.
outline() { grep -oE '<(title|h1|h2[^>]*|h3|figcaption|summary)>[^<]*' "$1" | sed 's/<[^>]*>//'; }

echo '<html><p>a<b>c</p></b></html>' >"$tap_dir/bad"
speaks "crossed tags are found" "closed: p, open: b" unbalanced "$tap_dir/bad"
echo '<html><p>a</p>' >"$tap_dir/bad"
speaks "open tags are found" "1 not closed" unbalanced "$tap_dir/bad"
echo '<p onload="x"></p>' >"$tap_dir/bad"
speaks "handlers are found" "onload" unbalanced "$tap_dir/bad"

# A profile of 2 curves, from samples whose device and flags would be markup.
awk 'BEGIN {
	print "# mooncake-samples: 1.0\n# device: <script>alert(\"d\")</script> & \047co\047\n# software: </table>\n# dtype: bf16"
	print "# date: 2026-02-03\n# source: <b onload=x>\001\377"
	print "op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,seconds,spread_ratio,repeats,flag"
	for (m = 1; m <= 8192; m *= 2)
		printf "gemm,%d,,,8192,1024,,,,,,,%.6g,,1,%s\n", m, 2e-5 + 8e-8 * m, m == 64 ? "<i>" : ""
	for (m = 1; m <= 4096; m *= 2)
		printf "norm,%d,,,8192,,,,,,,,%.6g,,1,\n", m, (4e-6 + 4e-8 * m) * (m == 32 ? 1.3 : 1)
	print "norm,16384,,,8192,,,,,,,,1e-3,,1,\nsend_recv,,,,,,,,,,4096,,1e-5,,1,"
}' >"$tap_dir/ops.csv"
sed '/norm,16384\|send_recv/d; /^# source/s/[^ -~]//g' "$tap_dir/ops.csv" >"$tap_dir/fit.csv"
"$mooncake" fit "$tap_dir/fit.csv" -H "$profiles/a800-x8-analytic.json" -o "$tap_dir/two.json" >/dev/null 2>&1

cd "$tap_dir" || exit 99
"$mooncake" fit --report "$page" two.json ops.csv >"$tap_dir/text" 2>"$tap_dir/stderr"
silent "nothing on stderr" cat "$tap_dir/stderr"
silent "a page is whole" unbalanced "$page"
speaks "a device is text" "&lt;script&gt;alert(&quot;d&quot;)&lt;/script&gt; &amp; &#39;co&#39;" cat "$page"
speaks "a flag is text" "(&lt;i&gt;)" cat "$page"
speaks "what is no text is replaced" "&lt;b onload=x&gt;&#xFFFD;&#xFFFD;" cat "$page"
speaks "the most wrong has its place" "ops.csv:26" cat "$page"
speaks "what is left out is counted" ">1 outside<" cat "$page"
speaks "flagged ones are" ">1 flagged<" cat "$page"
speaks "and those without a time" ">1 no time<" cat "$page"
speaks "the figures are text, too" "rows 32, n 8192" cat "$tap_dir/text"
outline "$page" >"$tap_dir/outline"
cat >"$tap_dir/want" <<'END'
Profile two
Profile two
Samples
1 file
Errors
The most wrong of all
gemm
Curves, n 8192, k 1024
Curves, n 8192, k 1024
Measured against fitted
Measured against fitted
Errors
Errors
Most wrong
1 curve: ranges, held-out errors, sources
norm
Curves, n 8192
Curves, n 8192
Measured against fitted
Measured against fitted
Errors
Errors
Most wrong
1 curve: ranges, held-out errors, sources
send_recv
Flagged samples
1 of 1
END
silent "it has its parts" diff "$tap_dir/want" "$tap_dir/outline"
sed 's/^gemm,64,.*/gemm,64,,,8192,1024,,,,,,,1e6,,1,/; s/^gemm,128,.*/gemm,128,,,8192,1024,,,,,,,1e-303,,1,/' ops.csv >far.csv
"$mooncake" fit --report far.html two.json far.csv >/dev/null 2>&1
silent "times that are 309 decades apart are drawn" unbalanced far.html
"$mooncake" fit --report - two.json ops.csv >"$tap_dir/piped" 2>"$tap_dir/stderr"
silent "the same bytes on stdout" cmp "$page" "$tap_dir/piped"
silent "its figures on stderr then" cmp "$tap_dir/text" "$tap_dir/stderr"
grep '^#\|^op,' ops.csv >empty.csv
"$mooncake" fit --report "$page" two.json empty.csv >/dev/null
silent "no sample: still a page" unbalanced "$page"

# Profiles that there are: measured entries, operators, neither; two side by side.
"$mooncake" fit --report "$page" "$profiles/a800-x8.json" >"$tap_dir/text"
silent "measured entries" unbalanced "$page"
speaks "of the profile's own points" "16384 tokens, 15565 cached" cat "$page"
"$mooncake" fit --report "$page" "$profiles/a800-x8.json" "$src/calib/samples/a800-x8-fast25-fig14.csv" >"$tap_dir/again"
speaks "samples have their lines" "fig14.csv:9" cat "$tap_dir/again"
sed '/most wrong/,$d' "$tap_dir/text" >"$tap_dir/a"
sed '/most wrong/,$d' "$tap_dir/again" | diff - "$tap_dir/a" >"$tap_dir/differs"
silent "and the errors of those points" cat "$tap_dir/differs"
"$mooncake" fit --report "$page" "$profiles/a800-x8-analytic.json" >/dev/null
silent "no measured times" unbalanced "$page"
"$mooncake" fit --report "$page" "$profiles/a100-x8-vidur.json" --compare "$profiles/a800-x8-vidur.json" --model llama3-70b \
	>"$tap_dir/text"
silent "two profiles" unbalanced "$page"
speaks "ratios of what is the same" "gemm                 768       0        0   1.000  1.000  1.000" cat "$tap_dir/text"
"$mooncake" predict -H "$profiles/a100-x8-vidur.json" -m llama3-70b -t 8 --prefill 2048 >"$tap_dir/predicted"
awk '$1 == "prefill" && $3 == 2048 { printf "%.4g ms\n", $4 }' "$tap_dir/text" >"$tap_dir/a"
sed -n 's/^prefill 2048: \([0-9.e-]*\) s.*/\1/p' "$tap_dir/predicted" | awk '{ printf "%.4g ms\n", 1e3 * $1 }' >"$tap_dir/b"
silent "predictions are those of predict" sh -c 'test -s "$1" && diff "$1" "$2"' sh "$tap_dir/a" "$tap_dir/b"
"$mooncake" fit --report "$page" "$profiles/a100-x8-vidur.json" --compare "$profiles/a800-x8.json" -m llama3-8b -t 1 >/dev/null
silent "two that have nothing in common" unbalanced "$page"
speaks "say so" "has no operators" cat "$page"
speaks "and why there are no times" "GPUs only" cat "$page"

out=$page
refused "no profile" "a profile, and files" 2 "$mooncake" fit --report "$page"
refused "a profile that is not there" "none.json" 2 "$mooncake" fit --report "$page" none.json
refused "another that is not there" "other.json" 2 "$mooncake" fit --report "$page" two.json --compare other.json
refused "samples that are not there" "none.csv" 2 "$mooncake" fit --report "$page" two.json ops.csv none.csv
refused "samples of another model" "no measured entry" 2 "$mooncake" fit --report "$page" two.json \
	"$src/calib/samples/a800-x8-fast25-fig14.csv"
sed 's/gemm,64/gemm,x/' ops.csv >bad.csv
refused "a bad sample" "bad.csv:14: rows" 2 "$mooncake" fit --report "$page" two.json bad.csv
refused "an unknown model" "no-such" 2 "$mooncake" fit --report "$page" two.json -m no-such
refused "nowhere to write" "none/x.html" 1 "$mooncake" fit --report none/x.html two.json
refused "a fit as well" "--hardware" 2 "$mooncake" fit --report "$page" two.json --hardware two.json
refused "--compare alone" "--report" 2 "$mooncake" fit ops.csv --compare two.json
tap_done
