# Sourced by ../run: Debian's stock 6.1 kernel, unpacked from its package and never installed.
#
# 6.1 and no other: later versions of rxe are reported to lose completions, and what is known about its surprises
# (transport-ibverbs/README.md) was found on this one. Kept in $cache: vmlinux, the modules in k/, the package's name.

kernel() {
    [ ! -s "$cache/vmlinux" ] || [ ! -s "$cache/name" ] || return 0
    local package
    package=$(apt-cache search --names-only '^linux-image-6\.1\.[0-9-]+-amd64$' | awk '{print $1}' | sort -V | tail -1)
    [ -n "$package" ] || fail "apt knows no linux-image-6.1.*-amd64; run apt-get update, with Debian 12 (bookworm) among its sources"
    say "downloading $package (about 70 MB, once)"
    rm -rf "$cache/new"
    mkdir -p "$cache/new"
    (
        cd "$cache/new"
        # Not as the user _apt, who may not be allowed to write here.
        apt-get -o APT::Sandbox::User=root download "$package" >download.log 2>&1 || { cat download.log >&2; exit 1; }
        mkdir k
        dpkg -x "$package"_*.deb k
        rm -f "$package"_*.deb
        # Only what a machine without disk and screen can use.
        cd k/lib/modules/*
        rm -rf kernel/drivers/{gpu,media,scsi,hid,input,usb,iio,staging,mtd,platform,hwmon,ata,isdn,comedi,video,nvme} \
            kernel/sound kernel/fs/{ocfs2,btrfs,xfs,cifs,nfs,nfsd,ceph,gfs2,jfs,f2fs,reiserfs,udf,ntfs*}
    ) || fail "$package cannot be downloaded; run apt-get update"
    unpack_vmlinux "$(echo "$cache"/new/k/boot/vmlinuz-*)" "$cache/new/vmlinux" || fail "the kernel in $package cannot be unpacked"
    depmod -b "$cache/new/k" "$(ls "$cache/new/k/lib/modules")"
    echo "$package" >"$cache/new/name"
    rm -rf "$cache"/{k,vmlinux,name}
    # The name last: it says that the rest is complete.
    mv "$cache"/new/{k,vmlinux} "$cache/"
    mv "$cache/new/name" "$cache/"
    rm -rf "$cache/new"
}

# The uncompressed kernel inside a bzImage: emulated, unpacking itself would take it about 5 s at every boot.
# The offsets are those of the boot protocol: number of set-up sectors at 497, offset and length of the payload at 584.
unpack_vmlinux() { # vmlinuz, vmlinux
    field() { od -An -t"$1" -j"$2" -N"$3" "$image" | tr -d ' '; }
    local image=$1 offset length
    offset=$((($(field u1 497 1) + 1) * 512 + $(field u4 584 4)))
    length=$(field u4 588 4)
    # The last four bytes are the length before compression. `head` ends before `tail` has said all.
    { tail -c +$((offset + 1)) "$image" || true; } | head -c $((length - 4)) | xz -dc >"$2"
}
