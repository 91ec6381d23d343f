# Refused requests by admission rule, and how the loads of the pools go together: as the report has it (8P+8D, rate x 2),
# where both pools limit on the trace that can be had (10P+2D, rate x 3), and there with prompts of one length.
seeds=$(either 3 2)

# shares FILE: "refused_% correlation"; of several seeds, the mean.
shares()
{
	awk -F, '{ value[$1] = $2 }
		END { printf "%.9g %.9g\n", 100 * value["requests.rejected"] / value["requests.total"], value["load.correlation"] }' "$1"
}

echo "case,rule,published_percent,percent,correlation" >"$plot/refused.csv"
for seed in $(seq $seeds); do
	"$mooncake" trace gen "$experiments/overload/equal.json" --seed "$seed" $(either "" "--set duration=5min") -o "$work/equal-$seed.jsonl"
done
for case in "8P+8D, rate x 2" "10P+2D, rate x 3" "9P+2D, prompts of one length"; do
	for r in baseline early predict; do
		published=$(values | awk -v r=$r '$1 == r { print $3 }')
		case $case in
		9P*)
			for seed in $(seq $seeds); do
				measure equal "$experiments/base.json" --set trace.path="$work/equal-$seed.jsonl" --set trace.rate=2 \
					--set run.warmup=$(either 300s 30s) --set cluster.prefill=9 --set cluster.decode=2 --set conductor.admission=$r
				shares "$work/equal.csv"
			done | awk '{ a += $1; b += $2 } END { print a / NR, b / NR }' >"$work/share"
			;;
		*)
			split=${case%%,*}
			prefill=${split%P*}
			decode=${split#*+}
			measure several "$experiments/overload/scenario.json" --set trace.path="$(recorded conversation)" \
				--set cluster.prefill="$prefill" --set cluster.decode="${decode%D}" --set trace.rate="${case##* }" \
				--set conductor.admission=$r --seeds $seeds
			shares "$work/several.csv" >"$work/share"
			;;
		esac
		read -r ours correlation <"$work/share"
		row "refused %" "$case, $r" "$published" "$ours" "" points
		echo "\"$case\",$r,$published,$ours,$correlation" >>"$plot/refused.csv"
	done
done

# order CASE KNOWN: the report's order, and loads in anti-phase under early rejection alone (-0.2 is where that begins).
order()
{
	awk -F'"?,"?' -v of="$1" -v known="$2" 'function told(good) { return good ? "ok" : known != "" ? "missed, see README" : "MISSED" }
		index($0, "\"" of) == 1 { ours[$(NF - 3)] = $(NF - 1); together[$(NF - 3)] = $NF }
		END {
			printf "%s\t%.2f %.2f %.2f\t%s\n", "order of refused %", ours["baseline"], ours["early"], ours["predict"],
				told((ours["baseline"] > ours["early"] && ours["early"] > ours["predict"]))
			printf "%s\t%.2f %.2f %.2f\t%s\n", "correlation of loads", together["baseline"], together["early"], together["predict"],
				(together["early"] < -0.2 && together["baseline"] > -0.2 && together["predict"] > -0.2 ? "ok: early alone in anti-phase" : "MISSED")
		}' "$plot/refused.csv" | while IFS='	' read -r what cells verdict; do
		shape "$what" "$1" - "$cells" order "$verdict"
	done
}
order "10P+2D, rate x 3" known
order "9P+2D, prompts of one length" ""

# loads NAME SCENARIO ARGUMENTS...: both pools' loads over time.
loads()
{
	run "$@" --set conductor.admission="${1#*-}" --set run.sample=2s
	{ echo "at_s,prefill_load,decode_load" && column "$work/$1/timeseries.csv" at_s prefill_load decode_load | tr '\t' ,; } >"$plot/$1.csv"
}
for r in baseline early predict; do
	loads mixed-$r "$experiments/overload/scenario.json" --set trace.path="$(recorded conversation)" --set cluster.prefill=10 \
		--set cluster.decode=2 --set trace.rate=3
	loads equal-$r "$experiments/base.json" --set trace.path="$work/equal-1.jsonl" --set cluster.prefill=9 --set cluster.decode=2 \
		--set trace.rate=2
done
