#!/bin/sh
# Draws what `experiments/run.sh --out DIR` left, one figure for each FIGURE.gp here of which DIR has the data.
#
#     plots/run.sh [--png] DIR [PICTURES]
#
# PICTURES is the folder for the pictures, SVG or PNG; DIR itself, if it is not given.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
format=svg
if [ "${1-}" = --png ]; then
	format=png
	shift
fi
[ $# -ge 1 ] && [ $# -le 2 ] && [ -d "$1" ] || { echo "$0: expected [--png] DIR [PICTURES]; DIR is what experiments/run.sh --out made" >&2 && exit 2; }
command -v gnuplot >/dev/null || { echo "$0: gnuplot is not installed" >&2 && exit 2; }
data=$1
pictures=${2:-$1}
case $format in
svg) terminal='svg size 960,440 font "Helvetica,13" background "white" rounded' ;;
png) terminal='pngcairo size 960,440 font "Helvetica,10" background "white" rounded' ;;
esac
mkdir -p "$pictures"
drawn=0
for f in "$here"/*.gp; do
	name=$(basename "$f" .gp)
	[ -d "$data/$name" ] || continue
	gnuplot -e "set terminal $terminal; set output '$pictures/$name.$format'; data = '$data/$name'; load '$here/style.gp'" "$f"
	drawn=$((drawn + 1))
done
[ $drawn -gt 0 ] || { echo "$0: $data: no data of any figure" >&2 && exit 2; }
