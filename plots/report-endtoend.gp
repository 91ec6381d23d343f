# Highest rates of requests against coupled nodes.
set tmargin 4
set bmargin 3
set multiplot layout 1,2 title "Report: highest Poisson rate, 4 nodes, TTFT within 10 and TBT within 5 times those of an idle cluster (90 %)"
set style data histograms
set style histogram clustered gap 1
set xtics font ",9"
set ylabel "requests/s"
set yrange [0:*]
set key top right
file = data."/gain.csv"
label(name) = name[1:10] eq "simulated-" ? name[11:*] : name
set title "TBT of all intervals"
plot file using 3:xtic(label(stringcolumn(1))) every 2::1 lc rgb blue title "3P+1D", \
	"" using 3 every 2::2 lc rgb green title "2P+2D", \
	"" using 4 every 2::1 lc rgb grey title "4 coupled"
set title "TBT of a request's longest tenth"
plot file using 5:xtic(label(stringcolumn(1))) every 2::1 lc rgb blue title "3P+1D", \
	"" using 5 every 2::2 lc rgb green title "2P+2D", \
	"" using 6 every 2::1 lc rgb grey title "4 coupled"
unset multiplot
