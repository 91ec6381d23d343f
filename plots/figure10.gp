# One pool against local caches, routed at random and by the longest cached prefix.
set tmargin 3
set multiplot layout 1,2 title "Figure 10: one pool and local caches, 10 prefill nodes"
set style data histograms
set style histogram clustered gap 1
set bmargin 5
set xtics font ",9"
set key top left
short(trace) = trace eq "conversation" ? "conv." : "synth."
name(trace, pool, policy) = short(trace)."\n".(pool eq "local" ? "local\n".(policy eq "random" ? policy : "by prefix") : "one pool")
set ylabel "hit rate, %"
set yrange [0:80]
plot data."/pools.csv" using 5:xtic(name(stringcolumn(1), stringcolumn(2), stringcolumn(3))) skip 1 lc rgb blue title "ours", \
	"" using 4 skip 1 lc rgb grey title "published"
set ylabel "prefill GPU time, s"
set yrange [0:2.2]
plot data."/pools.csv" using 7:xtic(name(stringcolumn(1), stringcolumn(2), stringcolumn(3))) skip 1 lc rgb blue title "ours", \
	"" using 6 skip 1 lc rgb grey title "published"
unset multiplot
