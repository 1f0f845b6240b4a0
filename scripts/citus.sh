#!/usr/bin/env bash
# A private Citus on loopback: one coordinator and two workers.
#
#   scripts/citus.sh start DIR   build Citus from its source in DIR, once, and start it; print its DSN
#   scripts/citus.sh stop        stop it; keep the data
#   scripts/citus.sh clean       stop it and remove its data; keep the build
#   scripts/citus.sh test DIR    run the store's contract on it
#
# DIR is the source of a Citus release that supports Debian's PostgreSQL, 13.0 for
# PostgreSQL 15: a checkout or an unpacked archive. It is not changed. The server is a copy
# of the one that scripts/postgres.sh unpacks, which includes pgvector; nothing is installed
# on the machine. EVERTHREAD_CACHE moves the cache folder.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

home=$cache/citus
nodes=(coordinator worker1 worker2)

owner() {
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

as_owner() (
	cd "$home"
	if [ "$(id -u)" = 0 ]; then
		exec runuser -u "$(owner)" -- "$@"
	fi
	exec "$@"
)

# find_bin sets bin, the folder of the server's programs.
find_bin() {
	bin=$(echo "$home"/server/usr/lib/postgresql/*/bin)
	[ -x "$bin/postgres" ]
}

# build builds the server from the source in $1, unless it exists. It is complete or absent.
build() {
	[ -x "$1/configure" ] || die "$1 holds no source of Citus"
	local sum origin config
	sum=$(cd "$1" && find src configure -type f -exec sha256sum {} + | sort | sha256sum)
	if [ -f "$home/built" ] && [ "$(cat "$home/built")" = "$sum" ] && find_bin; then
		return 0
	fi
	need_packages gcc:gcc make:make flex:flex
	# The headers of PostgreSQL include those of the libraries that it is built with.
	printf '#include <%s>\n' zstd.h lz4.h gssapi/gssapi.h openssl/ssl.h | gcc -E - >/dev/null 2>&1 ||
		need_packages no-headers:libzstd-dev no-headers:liblz4-dev no-headers:libkrb5-dev no-headers:libssl-dev
	origin=$(EVERTHREAD_POSTGRES=unpack "$root_dir/scripts/postgres.sh" bin)
	[ -d "$origin/../lib/pgxs" ] ||
		die "there is no postgresql-server-dev beside $origin, which Citus is compiled against"
	stop
	rm -rf "$home/server" "$home/source" "$home/built"
	cp -a "${origin%/usr/lib/postgresql/*}" "$home/server"
	cp -a "$1" "$home/source"
	find_bin
	config=$bin/pg_config
	log "compiling Citus"
	(
		cd "$home/source"
		quietly ./configure "PG_CONFIG=$config" --without-libcurl --without-lz4 --without-zstd \
			"CPPFLAGS=-I$home/server/usr/include/postgresql" "LDFLAGS=-L$(echo "$home"/server/usr/lib/*-linux-*)"
		quietly make -j2 with_llvm=no 'CFLAGS=-O2 -w' install
	) || die "Citus is not compiled"
	rm -rf "$home/source" "$home/data"
	echo "$sum" >"$home/built"
}

free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 12000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

port() { cat "$home/data/$1.port"; }

dsn() { echo "postgres://everthread:$(cat "$home/password")@127.0.0.1:$(port "${1:-coordinator}")/everthread?sslmode=disable"; }

runs() { [ -f "$home/data/$1/postmaster.pid" ] && as_owner "$bin/pg_ctl" -D "$home/data/$1" status >/dev/null 2>&1; }

init_node() {
	local data=$home/data/$1
	[ -s "$home/data/$1.port" ] && return 0
	rm -rf "$data"
	install -d -o "$(owner)" -m 700 "$data"
	quietly as_owner "$bin/initdb" -D "$data" -U everthread -E UTF8 --locale=C.UTF-8 -A scram-sha-256 \
		--pwfile="$home/password"
	cat >>"$data/postgresql.conf" <<-CONF
		listen_addresses = '127.0.0.1'
		unix_socket_directories = ''
		shared_preload_libraries = 'citus'
		citus.node_conninfo = 'sslmode=prefer'
		citus.enable_statistics_collection = off
		max_connections = 300
		max_prepared_transactions = 300
		max_locks_per_transaction = 512
		shared_buffers = 256MB
		wal_level = logical
		jit = off
		timezone = 'UTC'
		log_timezone = 'UTC'
	CONF
	free_port >"$home/data/$1.port"
}

start_node() {
	init_node "$1"
	runs "$1" && return 0
	# The server must not inherit the lock: descriptor 9 is closed for it.
	as_owner env "PGPASSFILE=$home/pgpass" "$bin/pg_ctl" -D "$home/data/$1" -w -t 60 -l "$home/data/$1/server.log" \
		-o "-p $(port "$1")" start >/dev/null 2>&1 9>&- ||
		die "the $1 does not start, see $home/data/$1/server.log"
}

sql() { PGPASSFILE=$home/pgpass "$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$(dsn "$1")" "${@:2}"; }

# prepare creates the database on every node, and registers the workers with the coordinator.
prepare() {
	local node
	for node in "${nodes[@]}"; do
		PGPASSWORD=$(cat "$home/password") "$bin/psql" -X -q -A -t -h 127.0.0.1 -p "$(port "$node")" -U everthread -d postgres \
			-c "select 1 from pg_database where datname = 'everthread'" | grep -q 1 ||
			PGPASSWORD=$(cat "$home/password") "$bin/psql" -X -q -h 127.0.0.1 -p "$(port "$node")" -U everthread -d postgres \
				-c 'set citus.enable_create_database_propagation to off' -c 'create database everthread' 2>/dev/null
		sql "$node" -c "create extension if not exists citus; create extension if not exists vector" 2>/dev/null
	done
	[ -n "$(sql coordinator -c 'select 1 from pg_dist_node where groupid = 0')" ] ||
		sql coordinator -c "select citus_set_coordinator_host('127.0.0.1', $(port coordinator))" >/dev/null
	for node in "${nodes[@]:1}"; do
		[ -n "$(sql coordinator -c "select 1 from pg_dist_node where nodeport = $(port "$node")")" ] ||
			sql coordinator -c "select citus_add_node('127.0.0.1', $(port "$node"))" >/dev/null
	done
}

start() {
	build "$1"
	find_bin
	mkdir -p "$home/data"
	[ -s "$home/password" ] || (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$home/password")
	(umask 077 && echo "127.0.0.1:*:*:everthread:$(cat "$home/password")" >"$home/pgpass")
	chown "$(owner)" "$home/password" "$home/pgpass"
	local node
	for node in "${nodes[@]}"; do
		start_node "$node"
	done
	prepare
	dsn
}

stop() {
	find_bin || return 0
	local node
	for node in "${nodes[@]}"; do
		if runs "$node"; then
			quietly as_owner "$bin/pg_ctl" -D "$home/data/$node" -m fast -w stop
		fi
	done
}

main() {
	mkdir -p "$home"
	exec 9>"$home/lock"
	flock 9
	case "${1:-}" in
	start) start "${2:?the folder of the source of Citus}" ;;
	stop) stop ;;
	clean) stop && rm -rf "$home/data" ;;
	test)
		TEST_CITUS_DSN=$(start "${2:?the folder of the source of Citus}")
		export TEST_CITUS_DSN
		(cd "$root_dir" && go test -tags 'goolm citus' -count=1 -timeout 60m -run 'Citus' ./core/store/postgres) || status=$?
		stop
		exit "${status:-0}"
		;;
	*)
		echo "usage: scripts/citus.sh start DIR|stop|clean|test DIR" >&2
		exit 2
		;;
	esac
}

main "$@"
