# Mean prefill GPU time by system.
set title "Figure 8: mean GPU time of a request's prefill"
set ylabel "GPU time, s"
set yrange [0:*]
set style data histograms
set style histogram clustered gap 1.5
set bmargin 4
set key top left
plot data."/prefill.csv" using 4:xtic(stringcolumn(1)."\n".stringcolumn(2)) skip 1 lc rgb blue title "ours", \
	"" using 3 skip 1 lc rgb grey title "published"
