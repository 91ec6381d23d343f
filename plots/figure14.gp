# One request alone.
set tmargin 3
set multiplot layout 1,2 title "Figure 14: one request alone (ours lines, published points)"
set xlabel "prompt, thousands of tokens"
set logscale x 2
set xtics (8, 16, 32, 64, 128)
set xrange [7:150]
set ylabel "prefill, s"
set logscale y
set yrange [0.05:50]
file = data."/alone.csv"
plot file using 1:($2 == 0 ? $4 : NaN) lw 2 lc rgb blue title "nothing cached", \
	"" using 1:($2 == 0 ? $3 : NaN) with points pt 6 lc rgb blue notitle, \
	"" using 1:($2 == 95 ? $4 : NaN) lw 2 lc rgb orange title "95 % cached", \
	"" using 1:($2 == 95 ? $3 : NaN) with points pt 6 lc rgb orange notitle
unset logscale y
set ylabel "128 tokens of decode, s"
set yrange [3:4.2]
plot file using 1:($2 == 0 ? $6 : NaN) lw 2 lc rgb blue title "nothing cached", \
	"" using 1:($2 == 0 ? $5 : NaN) with points pt 6 lc rgb blue notitle, \
	"" using 1:($2 == 95 ? $6 : NaN) lw 2 lc rgb orange dt 3 title "95 % cached", \
	"" using 1:($2 == 95 ? $5 : NaN) with points pt 4 lc rgb orange notitle
unset multiplot
