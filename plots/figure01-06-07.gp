# Requests by their TBT, at the rates that come nearest.
set tmargin 5
set multiplot layout 1,2 title "Figures 1, 6, 7: requests by TBT, 16 nodes (ours solid, published dashed)"
set xlabel "TBT (mean of a request's longest tenth of intervals), ms"
set ylabel "requests, %"
set xrange [0:500]
set yrange [0:105]
set key bottom right
arm(i) = word("mooncake plain caching chunked", i)
colour(i) = word(blue." ".grey." ".orange." ".red, i)
do for [trace in "conversation synthetic"] {
	rate = system("awk -F, '$1 == \"".trace."\" { print $2 }' '".data."/nearest.csv'")
	set title trace.", ours at ".rate." times the recorded rate"
	plot for [i = 1:4] data."/".trace.".csv" using 2:(only(arm(i), $3)) with lines lw 2 lc rgb colour(i) title arm(i), \
		for [i = 1:4] data."/published.csv" using 3:(both(trace, arm(i), $4)) with lines dt 2 lw 1.5 lc rgb colour(i) notitle
}
unset multiplot
