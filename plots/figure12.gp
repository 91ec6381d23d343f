# Time of one transfer by size.
set title "Figure 12: time to move cached KV between two nodes (ours lines, published points)"
set xlabel "KV, GB"
set ylabel "time, s"
set yrange [0:3.2]
set xrange [0:105]
file = data."/transfer.csv"
plot file using 1:6 lw 2 lc rgb blue title "4 x 200 Gbps, ours", \
	"" using 1:2 with points pt 6 lc rgb blue title "4 x 200 Gbps, Transfer Engine", \
	"" using 1:4 with points pt 2 lc rgb grey title "4 x 200 Gbps, TCP", \
	"" using 1:7 lw 2 lc rgb orange title "8 x 400 Gbps, ours", \
	"" using 1:3 with points pt 6 lc rgb orange title "8 x 400 Gbps, Transfer Engine", \
	"" using 1:5 with points pt 1 lc rgb grey title "8 x 400 Gbps, TCP"
