# TTFT by policy: box from quartile to quartile, whiskers to 1.5 times that, line the median, diamond the mean.
at(p) = p eq "random" ? 1 : p eq "least-loaded" ? 2 : p eq "cache-aware" ? 3 : 4
set title "Figure 5: TTFT by scheduling policy, 16 nodes, conversation trace (ours: 8P+8D, rate as recorded)"
set ylabel "TTFT, s"
set logscale y
set yrange [0.08:100]
set xrange [0.5:4.5]
set xtics ("random" 1, "least-loaded" 2, "cache-aware" 3, "kvcache-centric" 4)
set key top right
set boxwidth 0.28
ours = data."/ttft.csv"
theirs = data."/published.csv"
plot ours using (at(strcol(2)) - 0.17):(only("conversation", $4)):7:8:6 with candlesticks whiskerbars 0.5 lc rgb blue title "ours", \
	ours using (at(strcol(2)) - 0.17):(only("conversation", $5)):5:5:5 with candlesticks lc rgb "white" lw 2 notitle, \
	ours using (at(strcol(2)) - 0.17):(only("conversation", $3)) with points pt 13 ps 1.4 lc rgb "black" title "mean", \
	theirs using (at(strcol(2)) + 0.17):(only("conversation", $4)):7:8:6 with candlesticks whiskerbars 0.5 lc rgb grey title "published", \
	theirs using (at(strcol(2)) + 0.17):(only("conversation", $5)):5:5:5 with candlesticks lc rgb "white" lw 2 notitle, \
	theirs using (at(strcol(2)) + 0.17):(only("conversation", $3)) with points pt 13 ps 1.4 lc rgb "black" notitle
