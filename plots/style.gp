# What all figures share. Colours that are told apart by the colour-blind; ours is solid, the published one dashed.
set datafile separator comma
set datafile missing NaN
set border 3 lc rgb "#404040"
set tics nomirror out
set grid ytics lc rgb "#dddddd" lw 1
set key top left reverse Left samplen 2 spacing 1.15
set style data lines
set style fill solid 0.85 noborder
set boxwidth 0.9
blue = "#0072b2"; orange = "#e69f00"; green = "#009e73"; red = "#d55e00"; purple = "#7b4fa3"; grey = "#8a8a8a"
# only(of, value): the value in rows of which the first column is that name, nothing in others.
only(of, value) = strcol(1) eq of ? value : NaN
both(of, second, value) = strcol(1) eq of && strcol(2) eq second ? value : NaN
