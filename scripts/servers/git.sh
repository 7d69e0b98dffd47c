#!/bin/bash
# Git over HTTP, HTTPS (nginx, git-http-backend, basic auth) and SSH (sshd, git-shell) on 127.0.0.1.
#   eval "$(git.sh start [NAME])"   exports GIT_HTTPS_URL GIT_HTTP_URL GIT_CA GIT_USER GIT_PASS GIT_SSH_URL GIT_SSH_KEY
#                                   GIT_KNOWN_HOSTS GIT_SSH_COMMAND GIT_ROOT
#   git.sh repo NAME REPO           makes the bare repository $GIT_ROOT/REPO.git (branch main, fast-forward pushes only)
#   git.sh stop|env [NAME]
# Users: test / secret (reads and pushes), ro / ro-secret (a push is answered 403). $GIT_ROOT/../other_key is an SSH key
# that the server does not know. Environment: OWNER_PID (stop when that process ends), KEEP=1 (stop keeps the data).
set -euo pipefail
SELF=$(readlink -f "$0")
. "$(dirname "$SELF")/lib.sh"
COMMAND=${1:-start}
NAME=${2:-default}
D=$STATE/git-$NAME

load_ports() { [ -f "$D/ports" ] || die "no instance '$NAME' (start it first)"; . "$D/ports"; }

print_env() {
  load_ports
  cat <<SH
export GIT_ROOT=$D/repos GIT_HTTPS_URL=https://127.0.0.1:$HTTPS_PORT GIT_HTTP_URL=http://127.0.0.1:$HTTP_PORT
export GIT_CA=$D/server.crt GIT_USER=test GIT_PASS=secret
export GIT_SSH_URL=ssh://$(id -un)@127.0.0.1:$SSH_PORT$D/repos GIT_SSH_KEY=$D/client_key GIT_KNOWN_HOSTS=$D/known_hosts
export GIT_SSH_COMMAND="ssh -i $D/client_key -o IdentitiesOnly=yes -o UserKnownHostsFile=$D/known_hosts"
SH
}

make_repo() {
  [ -d "$D/repos/$1.git" ] || git init -q --bare -b main "$D/repos/$1.git"
  git -C "$D/repos/$1.git" config http.receivepack true
  git -C "$D/repos/$1.git" config receive.denyNonFastForwards true
}

write_sshd_config() {
  cat >"$D/sshd_config" <<CONF
ListenAddress 127.0.0.1
Port $SSH_PORT
HostKey $D/host_key
AuthorizedKeysFile $D/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PidFile none
CONF
}

write_nginx_config() {
  local as_root=""
  [ "$(id -u)" != 0 ] || as_root="user root;"
  cat >"$D/nginx.conf" <<CONF
$as_root
daemon off;
worker_processes 1;
pid $D/nginx.pidfile;
error_log $D/nginx-error.log;
events { worker_connections 128; }
http {
  access_log $D/nginx-access.log;
  client_body_temp_path $D/tmp/body; proxy_temp_path $D/tmp/proxy; fastcgi_temp_path $D/tmp/fastcgi;
  uwsgi_temp_path $D/tmp/uwsgi; scgi_temp_path $D/tmp/scgi;
  client_max_body_size 0;
  map "\$remote_user:\$request_uri" \$read_only_push { "~^ro:.*git-receive-pack" 1; default 0; }
  server {
    listen 127.0.0.1:$HTTP_PORT;
    listen 127.0.0.1:$HTTPS_PORT ssl;
    ssl_certificate $D/server.crt;
    ssl_certificate_key $D/server.key;
    auth_basic "git";
    auth_basic_user_file $D/htpasswd;
    location / {
      if (\$read_only_push) { return 403; }
      fastcgi_pass unix:$D/fcgi.sock;
      fastcgi_buffering off;
      fastcgi_request_buffering off;
      fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
      fastcgi_param GIT_PROJECT_ROOT $D/repos;
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param PATH_INFO \$uri;
      fastcgi_param QUERY_STRING \$query_string;
      fastcgi_param REQUEST_METHOD \$request_method;
      fastcgi_param CONTENT_TYPE \$content_type;
      fastcgi_param CONTENT_LENGTH \$content_length;
      fastcgi_param REMOTE_USER \$remote_user;
      fastcgi_param REMOTE_ADDR \$remote_addr;
      fastcgi_param HTTP_CONTENT_ENCODING \$http_content_encoding;
      fastcgi_param HTTP_GIT_PROTOCOL \$http_git_protocol;
      fastcgi_param GIT_PROTOCOL \$http_git_protocol;
    }
  }
}
CONF
}

make_instance() {
  local key
  read -r HTTP_PORT HTTPS_PORT SSH_PORT < <(free_ports 3)
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$D/server.key" -out "$D/server.crt" \
    -days 3650 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1,DNS:localhost" 2>/dev/null
  printf 'test:%s\nro:%s\n' "$(openssl passwd -apr1 secret)" "$(openssl passwd -apr1 ro-secret)" >"$D/htpasswd"
  for key in host_key client_key other_key; do ssh-keygen -q -t ed25519 -N '' -f "$D/$key"; done
  echo "restrict,command=\"exec git-shell -c \\\"\$SSH_ORIGINAL_COMMAND\\\"\" $(cat "$D/client_key.pub")" >"$D/authorized_keys"
  echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 "$D/host_key.pub")" >"$D/known_hosts"
  write_sshd_config
  write_nginx_config
  printf 'HTTP_PORT=%s\nHTTPS_PORT=%s\nSSH_PORT=%s\n' "$HTTP_PORT" "$HTTPS_PORT" "$SSH_PORT" >"$D/ports"
}

start_servers() {
  rm -f "$D/fcgi.sock"
  spawn "$D/fcgi.pid" "$D/fcgi.log" fcgiwrap -c 4 -s "unix:$D/fcgi.sock"
  wait_for 10 "$D/fcgi.pid" "$D/fcgi.log" test -S "$D/fcgi.sock"
  spawn "$D/nginx.pid" "$D/nginx.log" nginx -p "$D" -e "$D/nginx-error.log" -c "$D/nginx.conf"
  if [ "$(id -u)" = 0 ]; then mkdir -p /run/sshd; fi
  spawn "$D/sshd.pid" "$D/sshd.log" /usr/sbin/sshd -D -e -f "$D/sshd_config"
  wait_for 10 "$D/nginx.pid" "$D/nginx.log" curl -sf --max-time 5 --cacert "$D/server.crt" -u test:secret \
    "https://127.0.0.1:$HTTPS_PORT/test.git/info/refs?service=git-upload-pack"
  wait_for 10 "$D/sshd.pid" "$D/sshd.log" ssh-keyscan -p "$SSH_PORT" 127.0.0.1
}

case $COMMAND in
  start)
    for program in nginx fcgiwrap sshd git curl openssl; do need $program "run scripts/install-deps.sh test"; done
    began=$(now_ms)
    mkdir -p "$D/repos" "$D/tmp"
    [ -f "$D/ports" ] || make_instance
    load_ports
    make_repo test
    start_servers
    stop_with_owner "$SELF" "$NAME"
    echo "# git $NAME ready after $(($(now_ms) - began)) ms"
    print_env
    ;;
  env) print_env ;;
  repo)
    [ -n "${3:-}" ] || die "usage: git.sh repo NAME REPO"
    make_repo "$3"
    ;;
  stop)
    stop_pid "$D/nginx.pid"
    stop_pid "$D/fcgi.pid"
    stop_pid "$D/sshd.pid"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$D"
    ;;
  *) die "usage: git.sh start|stop|env|repo [NAME]" ;;
esac
