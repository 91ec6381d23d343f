# Split of 16 nodes.
set tmargin 3
set multiplot layout 1,3 title "Figure 15: split of 16 nodes, synthetic trace, TTFT 10 s, TBT 100 ms"
set xlabel "prefill nodes of 16"
set xrange [4.5:11.5]
set xtics 1
set key top right
file = data."/split.csv"
set ylabel "TTFT with hand-over, mean s"
set yrange [0:7]
plot file using 1:3 with linespoints pt 7 ps 0.7 lw 2 lc rgb blue title "ours", \
	"" using 1:2 with linespoints pt 6 ps 0.9 dt 2 lw 1.5 lc rgb grey title "published"
set ylabel "effective requests, %"
set yrange [50:105]
set key bottom right
plot file using 1:5 with linespoints pt 7 ps 0.7 lw 2 lc rgb blue title "ours", \
	"" using 1:4 with linespoints pt 6 ps 0.9 dt 2 lw 1.5 lc rgb grey title "published"
set ylabel "TBT, mean ms"
set yrange [0:70]
plot file using 1:7 with linespoints pt 7 ps 0.7 lw 2 lc rgb blue title "ours", \
	"" using 1:6 with linespoints pt 6 ps 0.9 dt 2 lw 1.5 lc rgb grey title "published"
unset multiplot
