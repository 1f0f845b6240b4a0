#!/usr/bin/env bash
# Installs Debian's Chromium and wapiti, a web page scanner, if they are missing, and
# prints the path of Chromium.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_packages chromium:chromium wapiti:wapiti
command -v chromium
