#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the chart of README.md as SVG, from docs/benchmarks/speedup.csv. `make docs` writes it to docs/images/speedup.svg.
set -euo pipefail
root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../..
awk -F, '
  BEGIN { left = 210; unit = 170; row = 30; top = 50; most = 3 }
  /^#/ || NF < 4 { next }
  { group[++n] = $1; name[n] = $2; disk[n] = $3; fastest[n] = $4 }
  # Usage: bar(Y, VALUE, CLASS); draws a bar with its value.
  function bar(y, value, class) {
    printf "  <rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"11\"/>\n", class, left, y, value * unit
    printf "  <text class=\"value\" x=\"%.0f\" y=\"%d\">%.2f</text>\n", left + value * unit + 4, y + 10, value
  }
  END {
    for (i = 1; i <= n; i++) groups += group[i] != group[i - 1]
    height = top + n * row + groups * 24 + 10
    width = left + most * unit + 50
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", width, height
    print "  <title>Speedup over sort shuffle</title>"
    print "  <style>"
    print "    text { font: 12px sans-serif; fill: #333; } .value { font-size: 11px; } .group { font-weight: bold; }"
    print "    .disk { fill: #9ecae1; } .fastest { fill: #2171b5; } .one { stroke: #cb181d; stroke-dasharray: 4 3; }"
    print "  </style>"
    printf "  <rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
    printf "  <rect class=\"disk\" x=\"%d\" y=\"12\" width=\"11\" height=\"11\"/>\n", left
    printf "  <text x=\"%d\" y=\"22\">over sort shuffle on disk</text>\n", left + 16
    printf "  <rect class=\"fastest\" x=\"%d\" y=\"12\" width=\"11\" height=\"11\"/>\n", left + 200
    printf "  <text x=\"%d\" y=\"22\">over its fastest configuration</text>\n", left + 216
    y = top
    for (i = 1; i <= n; i++) {
      if (group[i] != group[i - 1]) {
        printf "  <text class=\"group\" x=\"10\" y=\"%d\">%s</text>\n", y + 12, group[i]
        y += 24
      }
      printf "  <text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 8, y + 16, name[i]
      bar(y, disk[i], "disk")
      bar(y + 12, fastest[i], "fastest")
      y += row
    }
    printf "  <line class=\"one\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", left + unit, top - 8, left + unit, height - 10
    printf "  <text class=\"value\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">1.0</text>\n", left + unit, top - 12
    print "</svg>"
  }' "$root/docs/benchmarks/speedup.csv"
