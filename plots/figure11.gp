# Copies of hot blocks over time.
set multiplot layout 1,2 title "Figure 11: copies of the n-th hottest block (ours solid, published dashed)"
set xlabel "time, s"
set ylabel "prefill nodes that hold it"
set yrange [0:11]
colour(i) = word(blue." ".orange." ".green." ".red, i)
rank(i) = word("10 100 1000 10000", i)
do for [trace in "conversation synthetic"] {
	set title trace
	set xrange [0:trace eq "synthetic" ? 1050 : 3600]
	plot for [i = 1:4] data."/".trace.".csv" using 1:($2 == rank(i) ? $4 : NaN) with steps lw 2 lc rgb colour(i) title "rank ".rank(i), \
		for [i = 1:4] data."/published.csv" using 3:(both(trace, rank(i), $4)) with lines dt 2 lw 1.5 lc rgb colour(i) notitle
}
unset multiplot
