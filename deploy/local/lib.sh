# What `up` and `down` share. Sourced by them.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ -n "${DOCKET_STATE_DIR:-}" ]; then
  state=$DOCKET_STATE_DIR
elif [ "$(id -u)" -eq 0 ]; then
  state=/var/lib/docket
else
  state=${XDG_STATE_HOME:-$HOME/.local/state}/docket
fi
log_address=${DOCKET_LOG_ADDRESS:-127.0.0.1:7401}
todo_address=${DOCKET_TODO_ADDRESS:-127.0.0.1:7402}
bin=${DOCKET_BIN:-$root/build/release/bin}

fail() {
  echo "docket: $*" >&2
  exit 1
}

# What to put before a command of Postgres, which refuses to run as root.
database_user=()
if [ "$(id -u)" -eq 0 ]; then database_user=(setpriv --reuid=postgres --regid=postgres --init-groups --); fi

# pid_of NAME: the pid of the running postgres, docket-log or docket-todo of this state folder; nothing if it does not run.
pid_of() {
  local pid
  pid=$(cat "$state/run/$1.pid" 2> /dev/null) || return 0
  # Another program may have been given the number since; a dead one that nobody has waited for runs no more.
  case "$(cat "/proc/$pid/stat" 2> /dev/null)" in
    "$pid ($1) Z "* | "$pid ($1) X "*) ;;
    "$pid ($1) "*) echo "$pid" ;;
  esac
}

# stop NAME SIGNAL: ends it and waits until it is gone.
stop() {
  local pid
  pid=$(pid_of "$1")
  if [ -n "$pid" ]; then
    kill "-$2" "$pid" 2> /dev/null || true
    for _ in $(seq 300); do
      if [ -z "$(pid_of "$1")" ]; then break; fi
      sleep 0.1
    done
    if [ -n "$(pid_of "$1")" ]; then
      echo "docket: $1 does not end; killing it" >&2
      kill -KILL "$pid" 2> /dev/null || true
    fi
  fi
  rm -f "$state/run/$1.pid"
}

stop_all() {
  stop docket-todo TERM
  stop docket-log TERM
  stop postgres INT # fast: ends sessions, then shuts down cleanly
}
