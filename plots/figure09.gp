# Hit rate of one LRU pool by its capacity.
set title "Figure 9: hit rate of one LRU pool by its capacity, from the order of requests alone"
set xlabel "capacity, tokens"
set ylabel "hit rate, % of tokens"
set logscale x
set format x "10^{%T}"
set yrange [0:75]
plot data."/hits.csv" using 2:(only("conversation", $4)) with linespoints pt 7 ps 0.7 lw 2 lc rgb blue title "conversation, ours", \
	"" using 2:(only("conversation", $3)) with linespoints pt 6 ps 0.9 dt 2 lw 1.5 lc rgb blue title "conversation, published", \
	"" using 2:(only("synthetic", $4)) with linespoints pt 5 ps 0.7 lw 2 lc rgb orange title "synthetic, ours", \
	"" using 2:(only("synthetic", $3)) with linespoints pt 4 ps 0.9 dt 2 lw 1.5 lc rgb orange title "synthetic, published"
