# SPDX-License-Identifier: Apache-2.0
# Adds up what parts of a test run say of themselves; sourced after common.sh.
# shellcheck shell=bash

PASSED=0 FAILED=0 SKIPPED=0
EXCUSES=() FAILURES=()

# Usage: tally LOG EXIT_CODE NAME SECONDS; adds the sums that a part printed, in our words or in those of JUnit's console, or one
# failure if it printed none. Leaves them in TALLY.
tally() {
  local passed=0 failed=0 skipped=0
  if grep -qE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1"; then
    read -r passed _ failed _ skipped _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1" | tail -n 1 | tr -d ,)
  elif grep -q 'tests successful' "$1"; then
    passed=$(sed -n 's/^\[ *\([0-9]*\) tests successful.*/\1/p' "$1")
    failed=$(sed -n 's/^\[ *\([0-9]*\) tests failed.*/\1/p' "$1")
    skipped=$(sed -n 's/^\[ *\([0-9]*\) tests \(skipped\|aborted\).*/\1/p' "$1" | awk '{ sum += $1 } END { print sum + 0 }')
  fi
  [ "$2" = 0 ] || [ "$failed" -gt 0 ] || failed=1
  [ $((passed + failed)) -gt 0 ] || failed=1
  TALLY="$passed passed, $failed failed, $skipped skipped"
  say "$3: $TALLY in $4 s (log: $1)"
  [ "$failed" = 0 ] || mapfile -t -O "${#FAILURES[@]}" FAILURES < <(echo "$3, exit code $2:"; why "$1")
  PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
}

# Usage: why LOG; prints the failures in a part's log: lines that begin with FAILED, Maven's errors, and each failure in
# the list of JUnit's console with the top of its stack.
why() {
  awk '/^FAILED / || /^\[ERROR\]  / { print "  " $0 }
    /^Failures \([0-9]+\):$/ { list = 1; next }
    /^Test run finished/ { list = 0 }
    list && /^  JUnit / { left = 12 }
    list && left > 0 && NF { print; left-- }' "$1" | head -n 60
}

# Usage: excuse LOG PATTERN; of a part that was tallied, excuses the tests that an assumption skipped for a reason that begins
# with the pattern.
excuse() {
  local reasons
  mapfile -t reasons < <(sed -nE 's/.*(■|\[A\]) Assumption failed: //p' "$1" | grep -E "^($2)")
  EXCUSES+=("${reasons[@]}")
}

# Usage: list_excuses TITLE; prints each reason once, with how many tests it skipped.
list_excuses() {
  [ ${#EXCUSES[@]} -gt 0 ] || return 0
  echo "$1"
  printf '%s\n' "${EXCUSES[@]}" | sort | uniq -c
}

# Prints why parts failed, and all sums; succeeds if something passed, nothing failed and nothing was skipped without an excuse.
all_passed() {
  [ ${#FAILURES[@]} = 0 ] || printf '%s\n' "what failed:" "${FAILURES[@]}"
  echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
  [ "$FAILED" = 0 ] && [ "$SKIPPED" = ${#EXCUSES[@]} ] && [ "$PASSED" -gt 0 ]
}
