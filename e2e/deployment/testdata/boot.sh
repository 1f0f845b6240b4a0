# Boots a systemd of its own over a copy of this machine in memory, in namespaces: the
# files of $STAGE are laid over it, check.service runs everthread-box/check of them,
# $OUT is its /everthread-box/out, where it may leave things. It ends with the exit code of the check.
set -e
box=$(mktemp -d)
mount -t tmpfs box "$box"
mkdir "$box/upper" "$box/work" "$box/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$box/upper,workdir=$box/work" "$box/root"
cd "$box/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys # the kernel is everybody's
mount -t sysfs -o ro sysfs sys
if grep -q name=systemd /proc/self/cgroup; then
	mount -t tmpfs -o mode=755 cgroup sys/fs/cgroup
	mkdir sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
else
	mount -t cgroup2 cgroup sys/fs/cgroup
fi
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=755 dev dev
for node in null zero full random urandom tty; do
	touch "dev/$node"
	mount --bind "/dev/$node" "dev/$node"
done
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
rm -rf etc/systemd/system var/log/journal var/lib/systemd var/lib/everthread var/lib/private etc/everthread
mkdir -p etc/systemd/system
for other in systemd-sysctl systemd-modules-load systemd-udevd systemd-udev-trigger systemd-timesyncd systemd-resolved systemd-networkd; do
	ln -s /dev/null "etc/systemd/system/$other.service"
done
rm -rf everthread-box # names of a machine's root are anybody's: ours are below one folder
cp -a "$STAGE/." .
mkdir -p everthread-box/out everthread-box/old
mount --bind "$OUT" everthread-box/out
mount -t tmpfs -o mode=1777 tmp tmp
cat >etc/systemd/system/check.service <<'UNIT'
[Unit]
After=basic.target
Requires=basic.target
[Service]
Type=oneshot
StandardOutput=file:/everthread-box/out/check
StandardError=file:/everthread-box/out/check
Environment=HOME=/root
ExecStart=/bin/bash -c '/bin/bash -ex /everthread-box/check; echo $? >/everthread-box/out/code; systemctl --no-pager status everthread >/everthread-box/out/status 2>&1; journalctl --no-pager >/everthread-box/out/journal; systemctl exit'
UNIT
pivot_root . everthread-box/old # in a folder of chroot, no namespaces of users can be made
cd /
umount -l everthread-box/old
mount --make-rshared / # as a machine has it
exec env -i container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=check.service --log-target=journal --show-status=no
