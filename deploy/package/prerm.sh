#!/bin/sh
# Stop the service with its program; its data stay in /var/lib/everthread.
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl disable --now everthread.service
fi
