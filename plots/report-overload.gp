# Loads of both pools over time by admission rule, on the conversation trace and with prompts of one length.
set multiplot layout 3,2 margins 0.06,0.97,0.1,0.86 spacing 0.07,0.1 title "Report, section 7: loads of the pools by admission rule"
set yrange [0:1.3]
set xrange [0:1200]
set ytics 0.5
set xtics 300
set key bottom right horizontal
rule(i) = word("baseline early predict", i)
do for [i = 1:3] {
	do for [of in "mixed equal"] {
		set ylabel rule(i)
		if (i == 1) {
			set title (of eq "mixed" ? "conversation, 10P+2D, rate x 3" : "prompts of 12,000 tokens, 9P+2D")  offset 0,-0.5
		} else {
			unset title
		}
		set xlabel (i == 3 ? "time, s" : "") offset 0,0.5
		plot data."/".of."-".rule(i).".csv" using 1:2 skip 1 lw 1.5 lc rgb blue title "prefill", \
			"" using 1:3 skip 1 lw 1.5 lc rgb orange title "decode"
		set key off
	}
}
unset multiplot
