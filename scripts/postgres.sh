#!/usr/bin/env bash
# A private PostgreSQL with pgvector for the tests.
#
#   scripts/postgres.sh start    start it if it is not running; print its DSN
#   scripts/postgres.sh dsn      print the DSN of the running one
#   scripts/postgres.sh bin      print the folder of the server's programs, for tests that run their own
#   scripts/postgres.sh status   exit 0 if it runs
#   scripts/postgres.sh stop     stop it; keep the data
#   scripts/postgres.sh clean    stop it and remove its data; keep the build
#
# It uses the first source that works: TEST_POSTGRES_DSN (as it is, never started or stopped,
# unless this script has started it), a Docker engine, a PostgreSQL on this machine with pgvector,
# Debian packages with pgvector, Debian packages with pgvector compiled from the source package of
# Debian 13. Packages are unpacked into the cache folder; nothing is installed. The server listens
# on 127.0.0.1 and on a socket in the cache folder. It requires a password, of which it keeps an MD5
# hash: with SCRAM each of some thousand connections takes 13 ms of processor time more.
#
# EVERTHREAD_POSTGRES_FSYNC=off starts it without fsync, for tests: they kill processes, not
# the machine, and would time out on a slow disk. Benchmarks keep fsync on.
# EVERTHREAD_TEST_POSTGRES_AT is the folder of the data and the socket instead of the cache folder.
# EVERTHREAD_CACHE moves the cache folder; EVERTHREAD_POSTGRES=docker|local|unpack chooses
# the source.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

home=$cache/postgres
at=${EVERTHREAD_TEST_POSTGRES_AT:-$home}
container=everthread-test-postgres

# --- who runs the server -------------------------------------------------

owner() {
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

# as_owner runs a command as the server's user, in a folder that user can enter.
as_owner() (
	cd "$home"
	if [ "$(id -u)" = 0 ]; then
		exec runuser -u "$(owner)" -- "$@"
	fi
	exec "$@"
)

# --- where the server comes from -----------------------------------------

docker_answers() { has docker && timeout 10 docker info >/dev/null 2>&1; }

local_bin() {
	has pg_config || return 1
	local bin share
	bin=$(pg_config --bindir) && share=$(pg_config --sharedir)
	[ -f "$share/extension/vector.control" ] && [ -x "$bin/initdb" ] || return 1
	echo "$bin"
}

newest() { our_apt apt-cache search --names-only "^postgresql-$1\$" | grep -oE '[0-9]+' | sort -n | tail -1; }

# library_path names the folders of unpacked libraries below a root.
library_path() { { find "$1/usr/lib" "$1/lib" -maxdepth 1 -type d -name '*-linux-*' 2>/dev/null || true; } | paste -sd: -; }

# unpack_libraries adds the shared libraries that the server misses on this machine.
unpack_libraries() {
	local into=$1 version=$2 packages
	LD_LIBRARY_PATH=$(library_path "$into") ldd "$into/usr/lib/postgresql/$version/bin/postgres" |
		grep -q 'not found' || return 0
	# libllvm is only for the JIT, which is off; the C library is the machine's.
	packages=$(our_apt apt-get -s --no-install-recommends install "postgresql-$version" |
		awk '/^Inst (lib|tzdata)/ && !/^Inst (libllvm|libc6|libc-|lib.*perl)/ {print $2}')
	[ -z "$packages" ] || unpack_packages "$into" $packages
}

# debian_source unpacks Debian 13's source of pgvector and prints its folder.
debian_source() {
	local dir=$home/pgvector archive
	rm -rf "$dir" && mkdir -p "$dir"
	debian_13 deb-src
	(cd "$dir" && quietly our_apt apt-get source --download-only pgvector)
	archive=$(ls "$dir"/pgvector_*.orig.tar.*)
	mkdir "$dir/src"
	tar -xf "$archive" -C "$dir/src" --strip-components=1
	echo "$dir/src"
}

compile_pgvector() {
	local into=$1 version=$2 src pg_config
	pg_config=$into/usr/lib/postgresql/$version/bin/pg_config
	src=$(debian_source)
	log "compiling pgvector"
	quietly make -C "$src" -j2 with_llvm=no OPTFLAGS= "PG_CONFIG=$pg_config" "CPPFLAGS=-I$into/usr/include/postgresql"
	quietly make -C "$src" with_llvm=no "PG_CONFIG=$pg_config" install
	rm -rf "$home/pgvector"
}

# unpack_postgres creates the folder $home/root, once. It is complete or absent.
unpack_postgres() {
	[ -d "$home/root" ] && return 0
	has apt-get || die "no Docker engine, no pgvector, no apt: set TEST_POSTGRES_DSN to a PostgreSQL 15 or later with pgvector"
	local tmp=$home/root.new version
	log "unpacking PostgreSQL into $home"
	rm -rf "$tmp" && mkdir -p "$tmp"
	quietly our_apt apt-get update
	version=$(newest '[0-9]+-pgvector' || true)
	if [ -n "$version" ]; then
		unpack_packages "$tmp" "postgresql-$version" "postgresql-client-$version" libpq5 "postgresql-$version-pgvector"
		unpack_libraries "$tmp" "$version"
	else
		need_packages gcc:gcc make:make xz:xz-utils
		version=$(newest 'server-dev-[0-9]+')
		unpack_packages "$tmp" "postgresql-$version" "postgresql-client-$version" "postgresql-server-dev-$version" libpq5 libpq-dev
		unpack_libraries "$tmp" "$version"
		compile_pgvector "$tmp" "$version"
	fi
	echo "$version" >"$tmp/version"
	rm -rf "$home/apt"
	mv "$tmp" "$home/root"
}

# --- a server of our own --------------------------------------------------

# find_server sets bin, the folder of the server's programs.
find_server() {
	if [ "${EVERTHREAD_POSTGRES:-}" != unpack ] && bin=$(local_bin); then
		return 0
	fi
	unpack_postgres
	bin=$home/root/usr/lib/postgresql/$(cat "$home/root/version")/bin
	LD_LIBRARY_PATH=$(library_path "$home/root")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
}

free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 12000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

init_data() {
	[ -f "$at/data/PG_VERSION" ] && return 0
	rm -rf "$at/data" "$at/socket"
	install -d -o "$(owner)" -m 700 "$at/data"
	install -d -o "$(owner)" -m 700 "$at/socket"
	[ -s "$at/password" ] || (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$at/password")
	chown "$(owner)" "$at/password"
	log "making a database in $at/data"
	quietly as_owner "$bin/initdb" -D "$at/data" -U everthread -E UTF8 --locale=C.UTF-8 \
		-A md5 --pwfile="$at/password" --no-sync
	cat >>"$at/data/postgresql.conf" <<-CONF
		listen_addresses = '127.0.0.1'
		unix_socket_directories = '$at/socket'
		max_connections = 300
		shared_buffers = 256MB
		synchronous_commit = on
		jit = off
		timezone = 'UTC'
		log_timezone = 'UTC'
	CONF
}

server_runs() { [ -s "$at/port" ] && [ -f "$at/data/postmaster.pid" ] && as_owner "$bin/pg_ctl" -D "$at/data" status >/dev/null 2>&1; }

start_server() {
	find_server
	server_runs && return 0
	init_data
	local port try
	for try in 1 2 3 4 5; do
		# The same port as last time keeps test results cached.
		port=$([ "$try" = 1 ] && cat "$at/port" 2>/dev/null || free_port)
		# The server must not inherit the lock: descriptor 9 is closed for it.
		if as_owner "$bin/pg_ctl" -D "$at/data" -w -t 60 -l "$at/data/server.log" \
			-o "-p $port -c fsync=${EVERTHREAD_POSTGRES_FSYNC:-on}" start >/dev/null 2>&1 9>&-; then
			echo "$port" >"$at/port"
			log "PostgreSQL listens on 127.0.0.1:$port"
			prepare_database
			return 0
		fi
	done
	tail -5 "$at/data/server.log" >&2 || true
	die "PostgreSQL does not start, see $at/data/server.log"
}

prepare_database() {
	local psql=("$bin/psql" -X -q -v ON_ERROR_STOP=1)
	PGPASSWORD=$(cat "$at/password") PGHOST=$at/socket PGPORT=$(cat "$at/port") PGUSER=everthread
	export PGPASSWORD PGHOST PGPORT PGUSER
	"${psql[@]}" -d postgres -Atc "select 1 from pg_database where datname = 'everthread'" | grep -q 1 ||
		"${psql[@]}" -d postgres -c 'create database everthread'
	"${psql[@]}" -d everthread -c "$extensions" 2>/dev/null
}

extensions='create extension if not exists vector; create extension if not exists btree_gin'

print_dsn() { echo "postgres://everthread:$(cat "$at/password")@127.0.0.1:$1/everthread?sslmode=disable"; }

# --- a container ----------------------------------------------------------

container_port() { docker port "$container" 5432/tcp 2>/dev/null | sed -n 's/^127\.0\.0\.1://p' | head -1; }

start_container() {
	[ -n "$(container_port)" ] && return 0
	docker rm -f "$container" >/dev/null 2>&1 || true
	# Tests back the server up with this machine's pg_dump, which must not be older.
	local version
	version=$( (find_server && "$bin/pg_dump" --version) 2>/dev/null | grep -oE '[0-9]+' | head -1) || true
	image=pgvector/pgvector:pg${version:-17}
	[ -s "$at/password" ] || (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$at/password")
	POSTGRES_PASSWORD=$(cat "$at/password") quietly docker run -d --name "$container" -e POSTGRES_PASSWORD \
		-e POSTGRES_USER=everthread -e POSTGRES_DB=everthread -p 127.0.0.1::5432 "$image" -c max_connections=300 -c "fsync=${EVERTHREAD_POSTGRES_FSYNC:-on}"
	local try
	for try in $(seq 60); do
		# Over TCP: at its first start the image serves only its socket, then restarts.
		if docker exec "$container" psql -h 127.0.0.1 -U everthread -qc "$extensions" >/dev/null 2>&1; then
			log "PostgreSQL runs in the container $container"
			return 0
		fi
		sleep 1
	done
	die "the container $container does not answer, see docker logs $container"
}

# --- commands -------------------------------------------------------------

uses_docker() {
	case "${EVERTHREAD_POSTGRES:-}" in
	docker) return 0 ;;
	local | unpack) return 1 ;;
	esac
	docker_answers
}

start() {
	if uses_docker; then
		start_container
		print_dsn "$(container_port)"
	else
		start_server
		print_dsn "$(cat "$at/port")"
	fi
}

# running prints the DSN of the running server, or fails.
running() {
	if uses_docker; then
		[ -n "$(container_port)" ] && print_dsn "$(container_port)"
		return
	fi
	[ -f "$at/port" ] || return 1
	find_server
	server_runs && print_dsn "$(cat "$at/port")"
}

stop() {
	running >/dev/null || return 0
	if uses_docker; then
		quietly docker rm -f "$container"
		return
	fi
	find_server
	quietly as_owner "$bin/pg_ctl" -D "$at/data" -m fast -w stop
	log "PostgreSQL stopped"
}

# given reports whether TEST_POSTGRES_DSN names a server that this script did not start.
given() { [ -n "${TEST_POSTGRES_DSN:-}" ] && [ "$TEST_POSTGRES_DSN" != "$(running 2>/dev/null)" ]; }

main() {
	! uses_docker || at=$home # there is one container, with one password
	if [ "${1:-}" != bin ] && given; then
		case "${1:-}" in
		start | dsn) echo "$TEST_POSTGRES_DSN" ;;
		esac
		return 0
	fi
	mkdir -p "$home" "$at"
	exec 9>"$home/lock"
	flock 9
	case "${1:-}" in
	start) start ;;
	bin) find_server && echo "$bin" ;;
	dsn) running || die "PostgreSQL does not run: scripts/postgres.sh start" ;;
	status) running >/dev/null ;;
	stop) stop ;;
	clean) stop && rm -rf "$at/data" ;;
	*)
		echo "usage: scripts/postgres.sh start|dsn|bin|status|stop|clean" >&2
		exit 2
		;;
	esac
}

main "$@"
