# Mean TTFT by policy and rate; the published values as lines, since their rate is not stated.
set title "Report: mean TTFT by scheduling policy, 8P+8D, conversation trace (published: dashed, another trace, rate not stated)"
set xlabel "times the recorded rate"
set ylabel "mean TTFT, s"
set logscale y
set yrange [1:1000]
set key top left maxrows 4
file = data."/rates.csv"
policy(i) = word("random least-loaded cache-aware kvcache-centric", i)
colour(i) = word(grey." ".orange." ".green." ".blue, i)
plot for [i = 1:4] file using 2:(only(policy(i), $4)) with linespoints pt 7 ps 0.7 lw 2 lc rgb colour(i) title policy(i), \
	for [i = 1:4] "" using 2:(only(policy(i), $3)) with lines dt 2 lw 1.5 lc rgb colour(i) notitle
