#!/bin/sh
# usage: mongod-guard.sh program [argument...]
# Runs the program until it ends or standard input, a pipe from the process that wants it, closes. The
# first line of standard output is the program's process id. SIGTERM is passed on; the exit status is the
# program's.

exec 3<&0 4>&1 >&2

"$@" </dev/null 3<&- 4>&- &
database=$!
trap '' HUP INT
trap 'kill -TERM "$database"' TERM

# A process of its own, so that it still ends the database when this shell is killed with SIGKILL. The
# writes that a client was promised are in the journal: a database that dawdles can be killed.
(
  while read -r _; do :; done <&3
  kill -TERM "$database" 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    sleep 0.1
    kill -0 "$database" 2>/dev/null || exit 0
  done
  kill -KILL "$database" 2>/dev/null
) 4>&- &
watcher=$!

# Last, because a reader of this line may rely on everything above being in place.
echo "$database" >&4
exec 3<&- 4>&-

# Asked for first: of a program that has ended already, wait still knows the exit status.
wait "$database"
status=$?
# A trapped signal makes wait return early, with the database still there.
while kill -0 "$database" 2>/dev/null; do
  wait "$database"
  status=$?
done
kill -KILL "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
exit "$status"
