#!/bin/sh
# Restart a running service with the new program. A first installation starts nothing:
# `everthread init` comes first.
set -e
if [ "$1" = configure ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart everthread.service
fi
