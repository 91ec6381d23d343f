# TTFT and transfer time by bandwidth.
set title "Figure 13: bandwidth between nodes, synthetic trace, KV sent after prefill"
set xlabel "bandwidth, Gbps"
set ylabel "mean, s"
set logscale xy
set xrange [20:520]
set xtics (24, 40, 80, 100, 160, 320, 463)
set yrange [0.05:20]
set key top right
plot data."/bandwidth.csv" using 1:3 with linespoints pt 7 ps 0.7 lw 2 lc rgb blue title "TTFT with hand-over, ours", \
	"" using 1:2 with linespoints pt 6 ps 0.9 dt 2 lw 1.5 lc rgb blue title "TTFT, published", \
	"" using 1:5 with linespoints pt 5 ps 0.7 lw 2 lc rgb orange title "transfer, ours", \
	"" using 1:4 with linespoints pt 4 ps 0.9 dt 2 lw 1.5 lc rgb orange title "transfer, published"
