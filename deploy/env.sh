#!/bin/sh
# Writes the keys that `docker compose up` needs to .env beside docker-compose.yml,
# readable only by its owner. An existing .env keeps every line and gets only the
# missing keys. `everthread init --compose` does the same.

set -eu
umask 077
cd "$(dirname "$0")/.."

if [ ! -e .env ]; then
	set -C # do not replace a file that appears meanwhile
	cat >.env <<'HEAD'
# What `docker compose up` needs. Keep a copy in a safe place: without
# EVERTHREAD_SECRET_KEY stored keys cannot be read, and the database was made with
# POSTGRES_PASSWORD.
#
# Any key of the configuration can stand here (everthread config example), as
# EVERTHREAD_LLM_PROVIDER=openai
# EVERTHREAD_LLM_MODEL=gpt-5-mini
# EVERTHREAD_LLM_API_KEY='in single quotes if it has a $ or a #'
# EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=123456:ABC
HEAD
	set +C
fi

added=
for key in POSTGRES_PASSWORD EVERTHREAD_SECRET_KEY; do
	if ! grep -Eq "^[[:space:]]*(export[[:space:]]+)?$key[[:space:]]*[=:][[:space:]]*[^[:space:]#]" .env; then
		chmod 600 .env
		[ -z "$(tail -c 1 .env)" ] || echo >>.env
		printf '%s=%s\n' "$key" "$(od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n')" >>.env
		added=yes
	fi
done

# The folder for everthread.yaml. The gateway's user must be able to read it.
[ -d config ] || mkdir -m 755 config

if [ -n "$added" ]; then
	echo "$PWD/.env is written. Only you can read it; keep a copy." >&2
else
	echo "$PWD/.env is there already, and stays as it is." >&2
fi
